use crate::format::TaskFormat;
use crate::log::{self, Log};
use crate::recorder::Wanted;
use crate::table::Columns;
use crate::testing::rows::{found, found_with, replayed};

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
        let found = found_with(log, TaskFormat::Table, "");
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

#[test]
fn compressed_logs_are_read() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(rows(3).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let Log { summary, .. } = log::read_stream(&packed[..], "x", &Columns::default(), Wanted::DIAGNOSES, None).unwrap();
    assert_eq!(summary.attempts, 3);
}

#[test]
fn phases_wait_for_those_that_had_ended() {
    let log = "phase,start,end\na,0,10\na,0,20\nb,20,25\nc,21,30\nd,30,31\n";
    let found = found(log, TaskFormat::Table);
    let phases = replayed(&found.trace).remove(0).2;
    let after: Vec<_> = phases.iter().map(|(name, after, _)| (name.as_str(), after.clone())).collect();
    assert_eq!(after, [("a", vec![]), ("b", vec![0]), ("c", vec![0]), ("d", vec![1, 2])]);
}

#[test]
fn tasks_that_took_no_time_have_a_machine() {
    let found = found("task,start,end\na,100,100\nb,101,101\nc,102,102\n", TaskFormat::Table);
    let slots: Vec<u32> = found.trace.cluster_nodes().iter().map(|node| node.slots).collect();
    assert_eq!(slots, [1]);
}

/// The failures of the only diagnosis of a log: reason, attempts, seconds.
fn failures(log: &str, format: TaskFormat) -> Vec<(String, u64, f64)> {
    let [one] = &found(log, format).diagnoses[..] else { panic!("{log}") };
    one.failures.iter().map(|cost| (cost.reason.clone(), cost.attempts, cost.seconds)).collect()
}

#[test]
fn failed_attempts_are_listed_by_reason_with_their_time() {
    let table = "task,start,end,state,reason\na,0,10,FAILED,\na,10,20,done,\nb,0,5,FAILED,no disk\nb,5,9,TIMEOUT,\nc,0,3,killed,\n";
    let of = |reason: &str, attempts, seconds| (reason.to_owned(), attempts, seconds);
    assert_eq!(
        failures(table, TaskFormat::Table),
        [of("FAILED", 1, 10.0), of("no disk", 1, 5.0), of("TIMEOUT", 1, 4.0)]
    );
    let day = "2024-03-01T10:00:";
    let slurm = format!(
        "JobID|State|ExitCode|Start|End\n1_0|FAILED|2:0|{day}00|{day}30\n1_0|COMPLETED|0:0|{day}30|{day}50\n1_1|FAILED|2:0|{day}00|{day}10\n"
    );
    assert_eq!(failures(&slurm, TaskFormat::Slurm), [of("FAILED, exit code 2", 2, 40.0)]);
    let log = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n\
        1\t:\t1700000000.0\t4.0\t0\t0\t3\t0\ta\n2\t:\t1700000000.0\t1.5\t0\t0\t0\t0\tb\n";
    assert_eq!(failures(log, TaskFormat::Parallel), [of("exit code 3", 1, 4.0)]);
}

#[test]
fn a_job_of_slurm_on_several_nodes_is_on_none_of_them() {
    let rows = [
        "JobID|State|Start|End|NodeList|AllocNodes",
        "1|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:00:10|n1|1",
        "2|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:00:20|n4,n5|2",
        "3|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:00:30|n[6-8]|3\n",
    ];
    // Without the numbers of nodes, their list says whether there are several.
    let listed = rows.map(|row| row.rsplit_once('|').unwrap().0).join("\n") + "\n";
    for log in [&rows.join("\n"), &listed] {
        let found = found(log, TaskFormat::Slurm);
        assert_eq!((found.summary.tasks, found.summary.nodes), (3, 1), "{log}");
        assert_eq!(found.findings.machine_time.winners, 60.0);
        assert_eq!(found.trace.cluster_nodes()[0].name, "n1");
        assert!(found.trace.cluster_nodes().iter().all(|node| !node.name.contains(['4', '6'])), "{log}");
    }
}

#[test]
fn an_attempt_of_nextflow_without_an_end_lasts_as_long_as_it_ran() {
    // The duration includes the wait before the start.
    let log = "name\tstatus\thash\tstart\tduration\trealtime\n\
        TRIM (1)\tCOMPLETED\taa/01\t2024-02-01 10:00:00.000\t1m 30s\t1m\n\
        TRIM (2)\tCOMPLETED\taa/02\t2024-02-01 10:00:10.000\t1m 20s\t20s\n";
    let found = found(log, TaskFormat::Nextflow);
    assert_eq!(found.findings.machine_time.winners, 80.0);
    // `date -u -d 2024-02-01T10:00:00 +%s` is 1706781600.
    assert_eq!((found.summary.from, found.summary.to), (Some(1_706_781_600.0), Some(1_706_781_660.0)));
    assert_eq!(replayed(&found.trace).remove(0).2, [("TRIM".to_owned(), vec![], vec![60.0, 20.0])]);
}

#[test]
fn all_tasks_of_a_phase_count_however_far_apart_they_are() {
    // Between the two tasks of a phase, tasks of 300 other phases end.
    let mut log = "phase,task,start,end\nsame,0,0,1000\n".to_owned();
    for at in 1..=300 {
        log += &format!("x{at},{at},{},{}\n", 1000 + 60 * at, 1030 + 60 * at);
    }
    log += "same,301,20000,25000\n";
    let found = found(&log, TaskFormat::Table);
    let same = found.findings.phases.iter().find(|phase| phase.name.as_deref() == Some("same")).unwrap();
    assert_eq!((same.tasks, same.start, same.finish), (2, Some(0.0), Some(25_000.0)));
    assert_eq!((same.durations.p50, same.durations.max), (Some(3000.0), Some(5000.0)));
    assert_eq!((found.findings.jobs[0].tasks, found.findings.jobs[0].span), (302, 25_000.0));
}
