use crate::format::{Kind, TaskFormat};
use crate::log::read_as;
use crate::recorder::Wanted;
use crate::summary::TraceSummary;
use crate::table::Columns;
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

/// Returns the counts of a table with this header and these rows.
fn counts(header: &str, rows: impl Iterator<Item = String>) -> TraceSummary {
    let log: String = std::iter::once(header.to_owned()).chain(rows).collect();
    let (kind, columns) = (Kind::Tasks(TaskFormat::Table), Columns::default());
    read_as(kind, log.as_bytes(), "my.log", &columns, Wanted::default(), None).unwrap().summary
}

#[test]
fn nodes_past_the_limit_are_left_out_with_a_warning() {
    let names = (0..(1 << 18) + 3).chain([5]);
    let found = counts("node,start,end\n", names.map(|name| format!("n{name},0,1\n")));
    assert_eq!((found.nodes, found.attempts), (1 << 18, (1 << 18) + 4));
    let left_out = "3 attempts name a node beyond the first 262,144, which is left out.";
    assert_eq!(found.warnings, [left_out]);
}

#[test]
fn a_job_that_was_forgotten_counts_again_with_a_warning() {
    // When 2¹⁹ rows are held, half of the 2¹⁵ jobs are finished, which are more than are remembered.
    let jobs = (0..1 << 19).map(|row| row / 16).chain([0, 0, (1 << 15) - 1]);
    let found = counts("job,start,end\n", jobs.map(|job| format!("{job},0,1\n")));
    assert_eq!((found.jobs, found.attempts), ((1 << 15) + 1, (1 << 19) + 3));
    let warning = |text: &String| text.starts_with("1 job had attempts after so many other jobs");
    assert!(found.warnings.iter().any(warning), "{:?}", found.warnings);
}
