use hindmost_core::metrics::{Cause, Diagnosis, Spent};

use crate::format::TaskFormat;
use crate::log::sniff;
use crate::table::Columns;
use crate::testing::Outcome;
use crate::testing::rows::{Found, found, found_in, found_with, replayed};

/// Two jobs on two nodes: `fit` has tasks of 10 and 20 s and a failed attempt of 5 s, `load` one of 30 s.
const CSV: &str = "\
job,phase,task,node,start,end,state,input,cores
fit,map,0,n1,1700000000,1700000010,done,100,1
fit,map,1,n2,1700000000,1700000005,failed,200,1
fit,map,1,n1,1700000010,1700000030,done,200,1
load,,a,n2,1700000005,1700000035,ok,,2
";

fn check(found: &Found) {
    let summary = &found.summary;
    assert_eq!((summary.format, summary.jobs, summary.stages, summary.tasks), ("table", 2, 2, 3));
    assert_eq!((summary.attempts, summary.failed_attempts, summary.killed_attempts, summary.nodes), (4, 1, 0, 2));
    assert_eq!((summary.from, summary.to), (Some(1.7e9), Some(1_700_000_035.0)));
    assert_eq!(summary.failures["failed"], 1);
    assert_eq!(found.findings.machine_time.winners, 60.0);
    assert_eq!(found.findings.machine_time.failed, 5.0);
    let walls: Vec<f64> = found.diagnoses.iter().map(|one| one.wall_time.as_ref().unwrap().seconds).collect();
    assert_eq!(walls, [30.0, 30.0]);
}

#[test]
fn a_table_is_counted_diagnosed_and_replayed() {
    let found = found(CSV, TaskFormat::Table);
    check(&found);
    assert!(found.summary.warnings.is_empty(), "{:?}", found.summary.warnings);
    assert_eq!(
        replayed(&found.trace),
        [
            ("fit".to_owned(), 0.0, vec![("map".to_owned(), vec![], vec![10.0, 20.0])]),
            ("load".to_owned(), 5.0, vec![("phase-2".to_owned(), vec![], vec![30.0])]),
        ]
    );
    let nodes: Vec<_> = found.trace.cluster_nodes().iter().map(|node| (node.name.as_str(), node.slots)).collect();
    // The task of `load` uses both slots of n2 from second 5 on, when the failed attempt has ended.
    assert_eq!(nodes, [("n2", 2), ("n1", 1)]);
    let failed = &found.trace.attempts()[0];
    assert_eq!((failed.outcome, failed.launch, failed.finish), (Outcome::Failed, Some(0.0), Some(5.0)));
}

#[test]
fn jobs_of_a_table_run_again_as_they_ran() {
    let found = found(CSV, TaskFormat::Table);
    let world = found.trace.world().unwrap();
    let times: Vec<f64> = world.jobs.iter().map(|job| job.seconds).collect();
    assert_eq!((times, world.failures), (vec![30.0, 30.0], 1));
}

/// Four jobs of 24 named tasks on three nodes, of which one takes 9 s instead of 1 s: the same one in each job, or another one.
fn four_jobs(long: impl Fn(u32) -> u32) -> String {
    let row = |job: u32, task: u32| {
        // Tasks start in another order in each job.
        let place = (task * 5 + job * 7) % 24;
        let start = f64::from(40 * job + place / 6 * 2);
        let end = start + if task == long(job) { 9.0 } else { 1.0 + 0.01 * f64::from(place) };
        format!("run-{job},convert,tile-{task},n{},{start},{end}\n", place % 3)
    };
    let rows = (0..4).flat_map(|job| (0..24).map(move |task| (job, task))).map(|(job, task)| row(job, task));
    format!("job,phase,task,node,start,end\n{}", rows.collect::<String>())
}

#[test]
fn named_tasks_that_are_long_in_every_job_are_long_by_their_own() {
    let share = |log: &str| found(log, TaskFormat::Table).trace.world().unwrap().own_share;
    let again = share(&four_jobs(|_| 17));
    assert!(again.likeliest == Some(1.0) && again.repeats >= 3 && again.least > 0.3, "{again:?}");
    let others = share(&four_jobs(|job| 3 + 5 * job));
    assert!(others.likeliest == Some(0.0) && others.repeats >= 3 && others.most < 0.6, "{others:?}");
    // Names of tasks are enough; their numbers only show that a task is long again and again.
    let without_phase = four_jobs(|_| 17).replace(",phase,", ",x,");
    assert_eq!(share(&without_phase).likeliest, Some(1.0));
    assert_eq!(share(&without_phase.replace("tile-", "")).likeliest, None);
    let long = |log: &str| found(log, TaskFormat::Table).trace.world().unwrap().long_in_most_jobs;
    assert_eq!(long(&without_phase.replace("tile-", "")), 1);
    assert_eq!(long(&four_jobs(|job| 3 + 5 * job).replace(",phase,", ",x,").replace("tile-", "")), 0);
    // Without names, nothing says which tasks are the same.
    let nameless = four_jobs(|_| 17).replace(",task,", ",x,");
    assert_eq!(share(&nameless).likeliest, None);
}

#[test]
fn copies_of_a_task_that_is_long_in_every_job_are_long() {
    // Beside it, other tasks are long by chance, less long and more of them.
    let mut log = String::new();
    for (number, line) in four_jobs(|_| 17).lines().enumerate() {
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

#[test]
fn tasks_that_are_long_in_every_job_did_not_hang() {
    let isolated = |log: &str| -> u64 {
        let causes = found(log, TaskFormat::Table).diagnoses.into_iter().flat_map(|one| one.stragglers.causes);
        causes.filter(|found| found.cause == Cause::Isolated).map(|found| found.tasks).sum()
    };
    assert_eq!((isolated(&four_jobs(|_| 17)), isolated(&four_jobs(|job| 3 + 5 * job))), (0, 4));
    let numbered = four_jobs(|_| 17).replace(",phase,", ",x,").replace("tile-", "");
    for log in [numbered, four_jobs(|_| 17)] {
        let found = found(&log, TaskFormat::Table).diagnoses;
        let causes: Vec<Cause> = found.iter().flat_map(|one| &one.stragglers.causes).map(|one| one.cause).collect();
        assert_eq!(causes, [Cause::TaskItself; 4]);
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

/// Two jobs on one slot, each with a task of 200 s that could start at 0.
const ONE_SLOT: &str = "job,task,node,submitted,start,end\nA,a,n,1000,1000,1200\nB,b,n,1000,1200,1400\n";

#[test]
fn jobs_wait_for_slots_that_others_use() {
    let parts = |log: &str| -> Vec<Vec<(Spent, f64)>> {
        let parts =
            |one: Diagnosis| one.wall_time.unwrap().parts.iter().map(|part| (part.what, part.seconds)).collect();
        found(log, TaskFormat::Table).diagnoses.into_iter().map(parts).collect()
    };
    let [a, b] = &parts(ONE_SLOT)[..] else { panic!() };
    assert_eq!(a, &[(Spent::Work, 200.0)]);
    assert_eq!(b, &[(Spent::NoSlots, 200.0), (Spent::Work, 200.0)]);
    // On nodes of their own, jobs share nothing, and B waited although its slot was free.
    let [_, b] = &parts(&ONE_SLOT.replace("b,n,", "b,m,"))[..] else { panic!() };
    assert_eq!(b, &[(Spent::Work, 200.0), (Spent::Scheduling, 200.0)]);
    // Tasks that could not start yet do not wait.
    let [later] = &parts("task,node,submitted,start,end\na,n,1000,1000,1010\nb,n,1050,1050,1060\n")[..] else {
        panic!()
    };
    assert_eq!(later, &[(Spent::NoJob, 40.0), (Spent::Work, 20.0)]);
}

#[test]
fn columns_that_need_a_name_are_said() {
    let log = "id_of_run,t0,t1\na,1700000000,1700000010\nb,1700000000,1700000012\n";
    assert_eq!(sniff(log.as_bytes(), &Columns::default()), Some(TaskFormat::Table));
    let error = found_with(log, TaskFormat::Table, "").map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("no column for the start of an attempt") && error.contains("--columns start="), "{error}");
    assert_eq!(found_with(log, TaskFormat::Table, "start=t0,end=t1").unwrap().summary.tasks, 2);
    for no_table in ["a,b,c\n1,2,1700000000\n", "a letter, with commas\nand, more\n", "1,2\n3,4\n", "x,y\n1,abc\n"] {
        assert_eq!(sniff(no_table.as_bytes(), &Columns::default()), None, "{no_table}");
    }
    let twice = found("task,start,end,start\na,5,6,7\n", TaskFormat::Table);
    assert_eq!(
        twice.summary.warnings,
        ["2 columns have the name \"start\"; the first of them was read as the start. Rename the others."]
    );
}

#[test]
fn a_column_that_names_kinds_of_tasks_is_that_of_phases() {
    let rows = |count: u32, row: &dyn Fn(u32) -> String| (0..count).map(row).collect::<String>();
    let of = |number: u32| format!("{},{},success\n", 1_790_000_000 + number / 4 * 10, 1_790_000_009 + number / 4 * 10);
    // Mapped tasks of Airflow.
    let airflow = rows(40, &|number| format!("daily,load,{number},1,{}", of(number)));
    let mapped =
        found(&format!("dag_id,task_id,map_index,try_number,start_date,end_date,state\n{airflow}"), TaskFormat::Table);
    assert_eq!((mapped.summary.tasks, mapped.summary.speculative_attempts), (40, 0));
    assert_eq!(
        mapped.summary.warnings,
        [
            "The column \"task_id\" has the same value in many rows that are no attempts of one task: it was read as the \
             phase, and the column \"map_index\" as the task. --columns task=COLUMN names the column of the tasks."
        ]
    );
    // Some of them ran twice.
    let again = rows(4, &|number| format!("daily,load,{number},2,{}", of(number + 40)));
    let first = airflow.replacen("success", "failed", 4);
    let log = format!("dag_id,task_id,map_index,try_number,start_date,end_date,state\n{first}{again}");
    let repeated = found(&log, TaskFormat::Table).summary;
    assert_eq!((repeated.tasks, repeated.attempts, repeated.failed_attempts), (40, 44, 4));
    let named = found(
        &format!("task_name,start,end,status\n{}", rows(40, &|number| format!("load,{}", of(number)))),
        TaskFormat::Table,
    );
    assert_eq!((named.summary.tasks, named.summary.speculative_attempts), (40, 0));
    // Of rows of 600 bytes, the beginning of the file has fewer than are looked at, and the last one is cut before its columns end.
    let long = "x".repeat(600);
    let wide = rows(300, &|number| format!("load,{long},1,{}", of(number)));
    let wide = found(&format!("task_id,note,try_number,start,end,state\n{wide}"), TaskFormat::Table);
    assert_eq!((wide.summary.tasks, wide.summary.speculative_attempts), (300, 0));
    // Tasks that failed three times each are attempts.
    let failed = rows(40, &|number| {
        format!(
            "t{},{}",
            number / 4,
            of(4 * number).replace("success", if number % 4 == 3 { "success" } else { "failed" })
        )
    });
    let retried = found(&format!("task,start,end,status\n{failed}"), TaskFormat::Table);
    assert_eq!((retried.summary.tasks, retried.summary.attempts), (10, 40));
}

#[test]
fn a_second_column_that_could_be_the_start_is_said() {
    let log = "task,StartTime,start,end\na,4,5,6\n";
    let warnings = |columns: &str| found_with(log, TaskFormat::Table, columns).unwrap().summary.warnings;
    assert_eq!(
        warnings(""),
        [
            "The column \"start\" was read as the start, and not \"StartTime\". --columns start=COLUMN names another one."
        ]
    );
    assert!(warnings("start=StartTime").is_empty());
}

#[test]
fn a_time_that_cannot_be_read_is_said() {
    let found = found("task,start,end\na,foo,6\nb,5,6\nc,,6\n", TaskFormat::Table);
    assert_eq!(found.summary.tasks, 3);
    assert_eq!(
        found.summary.warnings,
        [
            "2 attempts have no start or no end; counted, but without a duration; the first is line 2.",
            "1 time could not be read; the first is \"foo\" in column \"start\" of line 2."
        ]
    );
}

#[test]
fn rows_with_too_many_fields_are_left_out() {
    let log = "task,note,start,end\na,fine,5,6\nb,not, so fine,5,6\nc,\"well, fine\",5,6\nd,,5,7,\n";
    let found = found(log, TaskFormat::Table);
    assert_eq!(found.summary.tasks, 3);
    assert_eq!(
        found.summary.warnings,
        [
            "1 row was skipped as unreadable; the first is line 3: it has 5 fields, separated by ',', and the header has 4; a \
             field that contains it must be in quotes."
        ]
    );
}

#[test]
fn times_of_the_wrong_size_are_noted() {
    let warnings = |log: &str| found(log, TaskFormat::Table).summary.warnings;
    let of_durations = warnings("task,start,duration\na,1700000000000,2500\nb,1700000002500,1000\n");
    assert!(of_durations[0].contains("--columns duration=duration:ms"), "{of_durations:?}");
    for clear in
        ["start,duration_ms\n1700000000000,2500\n", "start,duration\n1700000000,25\n", "start_ms,duration\n5,1s\n"]
    {
        assert!(warnings(clear).is_empty(), "{clear}");
    }
    let decades = warnings("task,start,end\na,5,6\nb,1700000000,1700000010\n");
    assert!(decades[0].starts_with("The log spans 54 years"), "{decades:?}");
    // A start of 0 is none if the end is not near it.
    let none = warnings("task,start,end\na,0,1700000003\nb,1700000000,1700000010\n");
    assert_eq!(none, ["1 attempt has no start or no end; counted, but without a duration; the first is line 2."]);
    assert!(warnings("task,start,end\na,0,3\nb,1,10\n").is_empty());
}

#[test]
fn delimiters_and_json_lines_give_the_same() {
    check(&found(&CSV.replace(',', "\t"), TaskFormat::Table));
    check(&found(&CSV.replace(',', ";"), TaskFormat::Table));
    let mut lines = Vec::new();
    for row in CSV.lines().skip(1) {
        let keys = CSV.lines().next().unwrap().split(',');
        let fields = keys.zip(row.split(',')).map(|(key, value)| match value.parse::<i64>() {
            Ok(number) => format!("\"{key}\":{number}"),
            Err(_) => format!("\"{key}\":\"{value}\""),
        });
        lines.push(format!("{{{}}}", fields.collect::<Vec<_>>().join(",")));
    }
    check(&found(&lines.join("\n"), TaskFormat::Table));
    check(&found(&format!("[{}]", lines.join(",\n ")), TaskFormat::Table));
}

#[test]
fn quoted_fields_may_contain_the_delimiter_and_line_feeds() {
    for delimiter in [",", ";"] {
        let log = "task,node,start,end\n\"a, or b\",\"rack 1, n2\",0,4\n\"c\nd\",\"rack 1, n2\",4,10\n";
        let found = found(&log.replace(',', delimiter), TaskFormat::Table);
        assert_eq!((found.summary.tasks, found.findings.machine_time.winners), (2, 10.0), "{delimiter}");
        assert_eq!(found.summary.warnings, [""; 0]);
        let nodes: Vec<_> = found.trace.cluster_nodes().iter().map(|node| (&*node.name, node.slots)).collect();
        assert_eq!(nodes, [(&*format!("rack 1{delimiter} n2"), 1)]);
    }
}

#[test]
fn start_and_duration_are_enough() {
    let found = found("name,start_ms,elapsed\nx,5000,1.5s\ny,6000,00:00:02\n", TaskFormat::Table);
    assert_eq!((found.summary.from, found.summary.to), (Some(5.0), Some(8.0)));
    assert_eq!(found.findings.machine_time.winners, 3.5);
    let named = found_with("a,b\n7,2\n", TaskFormat::Table, "end=a,duration=b").unwrap();
    assert_eq!((named.summary.from, named.summary.to), (Some(5.0), Some(7.0)));
}

#[test]
fn odd_rows_are_counted_with_their_line() {
    let log = "\
# exported on Monday
task,start,end,state

a,2024-01-01T00:00:00,2024-01-01T00:00:10,COMPLETED
task,start,end,state
b,yesterday,,COMPLETED
c,2024-01-01T00:00:00,,RUNNING
d,,,PENDING
e,2024-01-01T00:00:10,2024-01-01T00:00:05,COMPLETED
f,2024-01-01T00:00:00,2024-01-01T00:00:05,puzzled
\"g, or
h\",2024-01-01T00:00:00,2024-01-01T00:00:05,COMPLETED
i,2024-01-0";
    let found = found(log, TaskFormat::Table);
    let summary = &found.summary;
    assert_eq!((summary.attempts, summary.tasks), (4, 4));
    assert_eq!(
        summary.warnings,
        [
            "The log is cut short in line 13; everything before that was read.",
            "1 row was skipped as unreadable; the first is line 6: \"yesterday\" in the column \"start\" is no time, which is \
             written as 1700000000.5 or 2024-03-31 13:05:00Z (a duration: 90.5 or 0:01:30).",
            "1 row was left out (repeated headers); the first is line 5.",
            "1 row was left out (tasks that never started); the first is line 8.",
            "1 row (14.3% of those with a state) has an unknown state, which is taken for success: \"puzzled\" (1 row); \
             the first is line 10. Say what they mean with --states, such as --states failed=puzzled; the meanings are \
             succeeded, failed, killed and running.",
            "1 attempt has not ended; not counted; the first is line 7.",
            "1 attempt ends before the start; counted, but without a duration; the first is line 9.",
        ]
    );
}

#[test]
fn times_that_cannot_be_read_are_named() {
    let warnings = |log: &str| found(log, TaskFormat::Table).summary.warnings;
    let skipped = |said: &str| {
        let how = "which is written as 1700000000.5 or 2024-03-31 13:05:00Z (a duration: 90.5 or 0:01:30)";
        vec![format!("1 row was skipped as unreadable; the first is line 3: {said} is no time, {how}.")]
    };
    // None of these has a state, and a row without times is a task that never started.
    assert_eq!(
        warnings("task,Start Time,end\na,5,6\nb,03/01/2024 10:00,03/01/2024 10:05\n"),
        skipped("\"03/01/2024 10:00\" in the column \"Start Time\"")
    );
    assert_eq!(warnings("task,start,end\na,5,6\nb,5,abc\n"), skipped("\"abc\" in the column \"end\""));
    assert_eq!(warnings("task,start,duration\na,5,6\nb,5,long\n"), skipped("\"long\" in the column \"duration\""));
    assert_eq!(
        warnings("task,start,end\na,5,6\nb,None,NaT\n"),
        ["1 row was left out (tasks that never started); the first is line 3."]
    );
    assert_eq!(
        warnings("task,start,end\na,5,6\nb,5,-\n"),
        ["1 attempt has not ended; not counted; the first is line 3."]
    );
    let none = found_with("task,start,end\na,03/01/2024 10:00,abc\n", TaskFormat::Table, "").err().unwrap().to_string();
    assert!(none.contains("\"03/01/2024 10:00\" in the column \"start\" is no time"), "{none}");
}

#[test]
fn a_second_running_attempt_is_a_copy() {
    let log = "task,node,start,end,state\n0,a,0,100,killed\n0,b,50,90,done\n1,a,0,10,done\n";
    let found = found(log, TaskFormat::Table);
    assert_eq!((found.summary.speculative_attempts, found.summary.killed_attempts), (1, 1));
    let speculation = found.findings.speculation;
    assert_eq!((speculation.started, speculation.won, speculation.won_seconds), (1, 1, 40.0));
    assert_eq!(found.findings.machine_time.losers, 100.0);
    assert_eq!(found.trace.attempts()[0].outcome, Outcome::Lost);
}

#[test]
fn jobs_of_single_rows_are_tasks() {
    let found = found("job_id,start,end\n1,0,5\n2,0,5\n3,5,9\n4,5,8\n", TaskFormat::Table);
    assert_eq!((found.summary.jobs, found.summary.tasks), (1, 4));
    assert!(found.summary.warnings[0].starts_with("Each row has a job of its own"));
    let slots: Vec<u32> = found.trace.cluster_nodes().iter().map(|node| node.slots).collect();
    assert_eq!(slots, [1, 1]);
}

#[test]
fn missing_columns_are_named_with_the_cure() {
    let error = |log: &str, columns: &str| found_with(log, TaskFormat::Table, columns).err().unwrap().to_string();
    let said = error("task,start\n1,2\n", "");
    assert!(said.contains("no column for the end or the duration of an attempt"), "{said}");
    assert!(said.contains("its columns are \"task\", \"start\"; name the column with --columns"), "{said}");
    assert!(error("a,b\n1,2\n", "start=a,end=c").contains("no column for \"c\""));
    assert!(error("task,start,end\n", "").contains("holds no attempt"));
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
    ] {
        assert_eq!(sniff(other.as_bytes(), &Columns::default()), None, "{other}");
    }
}

#[test]
fn states_mean_what_the_user_says() {
    let mut log = "task,start,end,state\n".to_owned();
    for task in 0..40 {
        let state = ["GREEN", "GREEN", "red", "exited", "amber"][task % 5];
        log += &format!("{task},0,{},{state}\n", task + 1);
    }
    let unknown = found(&log, TaskFormat::Table).summary;
    assert_eq!((unknown.attempts, unknown.failed_attempts), (40, 0));
    assert_eq!(
        unknown.warnings,
        [
            "32 rows (80.0% of those with a state) have an unknown state, which is taken for success: \"GREEN\" (16 rows), \
          \"amber\" (8 rows), \"red\" (8 rows); the first is line 2. Say what they mean with --states, such as --states \
          failed=GREEN; the meanings are succeeded, failed, killed and running."
        ]
    );
    // Also a word that is known without it.
    let states = "succeeded=green,failed=RED,killed=exited,running=amber".parse().unwrap();
    let columns = Columns::default().with_states(states);
    let named = found_in(&log, TaskFormat::Table, &columns).unwrap().summary;
    assert_eq!((named.attempts, named.failed_attempts, named.killed_attempts), (32, 8, 8));
    assert!(!named.warnings.iter().any(|warning| warning.contains("state")), "{:?}", named.warnings);
}

#[test]
fn many_unknown_states_are_named_with_the_most_frequent_first() {
    let mut log = "task,start,end,state\n".to_owned();
    for task in 0..60 {
        log += &format!("{task},0,1,odd-{}\n", if task < 30 { 7 } else { task });
    }
    let warnings = found(&log, TaskFormat::Table).summary.warnings;
    assert!(warnings[0].contains("\"odd-7\" (30 rows), \"odd-30\" (1 row)"), "{warnings:?}");
    assert!(warnings[0].contains("and others (26 rows)"), "{warnings:?}");
}
