use crate::format::TaskFormat;
use crate::testing::rows::{found, read};

/// Returns a table of one job with this number of rows; row `n` runs from `n` to `n + 10` seconds.
fn rows(count: usize) -> String {
    let mut log = "task,start,end\n".to_owned();
    for n in 0..count {
        log += &format!("{n},{n},{}\n", n + 10);
    }
    log
}

#[test]
fn a_cut_log_is_read_up_to_the_cut() {
    let whole = rows(5);
    for cut in 16..whole.len() {
        let log = &whole[..cut];
        let complete = log.matches('\n').count() - 1;
        let found = read(log, TaskFormat::Table);
        let Ok(found) = found else {
            assert_eq!(complete, 0, "{log}");
            continue;
        };
        assert!(found.summary.attempts as usize >= complete, "{log}");
        assert!(found.summary.attempts as usize <= complete + 1, "{log}");
    }
}

#[test]
fn a_job_with_many_rows_is_counted_in_parts() {
    // 2¹⁹ rows are held at a time.
    let found = found(&rows((1 << 19) + 1000), TaskFormat::Table);
    assert_eq!((found.summary.jobs, found.summary.stages), (1, 1));
    assert_eq!(found.summary.tasks, (1 << 19) + 1000);
    assert_eq!(found.findings.tasks, (1 << 19) + 1000);
    assert_eq!(found.diagnoses.len(), 1);
    assert!(found.summary.warnings.iter().any(|warning| warning.contains("1 job has more attempts")));
}
