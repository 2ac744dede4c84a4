use hindmost_core::metrics::Cause;

use crate::format::TaskFormat;
use crate::log::sniff;
use crate::table::Columns;
use crate::testing::rows::found;

/// Four jobs of 24 named tasks on three nodes, of which `tile-17` takes 9 s instead of 1 s in each job.
const LONG_TASK: &str = include_str!("../../tests/it/fixtures/table/long_task.csv");

#[test]
fn copies_of_a_task_that_is_long_in_every_job_are_long() {
    // Beside it, other tasks are long by chance, less long and more of them.
    let mut log = String::new();
    for (number, line) in LONG_TASK.lines().enumerate() {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        let by_chance = number % 7 == 3 && fields[2] != "tile-17";
        if let (true, Ok(end)) = (by_chance, fields[5].parse::<f64>()) {
            fields[5] = format!("{}", end + 1.5);
        }
        log += &(fields.join(",") + "\n");
    }
    let found = found(&log, TaskFormat::Table);
    let world = found.trace.world().unwrap();
    assert!(world.own_share.likeliest.is_some_and(|share| share < 0.7), "{:?}", world.own_share);
    assert_eq!(world.long_in_most_jobs, 1);
    let mut jobs = found.trace.workload_jobs().to_vec();
    world.give_durations(&mut jobs);
    for job in &jobs {
        let hindmost_core::workload::Durations::Situated(phase) = &job.durations[0] else { panic!() };
        let longest = phase.tasks.iter().max_by(|a, b| a.input.total_cmp(&b.input)).unwrap();
        assert!(longest.input > 7.0 && longest.residual == 1.0, "{longest:?}");
        assert_eq!(longest.input, longest.garbage, "it has no input that could be made smaller");
    }
}

/// Jobs of 12 tasks of about 10 s on four nodes, one after another; `slow` is how many times as long tasks of node n3 take.
fn daily_jobs(slow: f64) -> String {
    let row = |job: u32, task: u32| {
        let node = (task + job) % 4;
        let seconds = (10.0 + f64::from((task * 7 + job * 5) % 11) / 5.0) * if node == 3 { slow } else { 1.0 };
        let start = f64::from(100 * job);
        format!("day-{job},load,t{task},n{node},{start},{}\n", start + seconds)
    };
    let rows = (0..30).flat_map(|job| (0..12).map(move |task| (job, task))).map(|(job, task)| row(job, task));
    format!("job,phase,task,node,start,end\n{}", rows.collect::<String>())
}

#[test]
fn many_small_jobs_prove_a_slow_node_together() {
    let found_slow = found(&daily_jobs(3.0), TaskFormat::Table);
    for one in &found_slow.diagnoses {
        let [slow] = &one.slow_nodes[..] else { panic!("{:?}", one.slow_nodes) };
        assert!(slow.node == "n3" && (slow.ratio - 3.0).abs() < 0.3, "{slow:?}");
        assert!(one.stragglers.causes.iter().all(|found| found.cause == Cause::SlowNode), "{:?}", one.stragglers);
    }
    assert!(found(&daily_jobs(1.0), TaskFormat::Table).diagnoses.iter().all(|one| one.slow_nodes.is_empty()));
}

#[test]
fn a_long_row_does_not_hide_that_a_column_names_phases() {
    // Of rows of 600 bytes, the beginning of the file has fewer than are looked at, and the last one is cut before its columns end.
    let mut log = "task_id,note,try_number,start,end,state\n".to_owned();
    for number in 0..300 {
        let start = 1_790_000_000 + number / 4 * 10;
        log += &format!("load,{},1,{start},{},success\n", "x".repeat(600), start + 9);
    }
    let wide = found(&log, TaskFormat::Table).summary;
    assert_eq!((wide.tasks, wide.speculative_attempts), (300, 0));
}

#[test]
fn an_array_of_other_length_than_the_names_is_unreadable() {
    let log = "[\n[\"start\",\"end\"],\n[1,2],\n[1,2,3],\n[4],\n[3,null]\n]\n";
    let summary = found(log, TaskFormat::Table).summary;
    assert_eq!(summary.attempts, 1);
    let said = "2 rows were skipped as unreadable; the first is line 4: it has 3 values, and the header has 2.";
    assert!(summary.warnings.iter().any(|warning| warning == said), "{:?}", summary.warnings);
}

#[test]
fn other_files_are_no_tables() {
    for other in [
        "",
        "{\"Event\":\"SparkListenerLogStart\",\"start\":1,\"end\":2}",
        "{\"hindmost_journal\":1,\"start\":1,\"end\":2}",
        "start\n1\n",
        "a,b,c\n1,2,3\n",
        "INFO, started the server, end\n",
        "a,b,c\n1,2,1700000000\n",
        "a letter, with commas\nand, more\n",
        "1,2\n3,4\n",
        "x,y\n1,abc\n",
    ] {
        assert_eq!(sniff(other.as_bytes(), &Columns::default()), None, "{other}");
    }
}
