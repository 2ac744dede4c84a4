use hindmost_core::metrics::{AttemptCounts, Durations, MachineTime, Skew, Speculation, Stragglers, Waiting};
use hindmost_core::random::{Purpose, draw as drawn};

use super::*;
use crate::text::columns;

fn phase(number: u32, name: &str, tasks: u64, waited: f64) -> PhaseFinding {
    PhaseFinding {
        application: 0,
        phase: number,
        name: Some(name.to_owned()),
        job: None,
        tasks,
        tasks_stated: None,
        attempts: AttemptCounts { ended: tasks + 2, succeeded: tasks, failed: 0, killed: 2 },
        speculation: Speculation { started: 3, won: 1, lost: 2, won_seconds: 5.0, lost_seconds: 9.0 },
        machine_time: MachineTime::default(),
        start: Some(0.0),
        finish: Some(100.0),
        durations: Durations {
            mean: Some(12.0),
            p50: Some(10.0),
            p95: Some(30.0),
            max: Some(1234.5),
            are_approximate: false,
        },
        waiting: Waiting { seconds: waited, share: Some(waited / 100.0) },
        stragglers: Stragglers { tasks: 9, excess_seconds: 100.0, skew: 4, slow_node: 3, other: 2, unclassified: 0 },
        skew: Some(Skew {
            tasks,
            elasticity: 0.9,
            elasticity_ci95: [0.8, 1.0],
            r_squared: 0.7,
            p: 1e-9,
            explains: true,
        }),
        fit: Fit::of_values(&[], 0.0),
    }
}

fn findings() -> Findings {
    Findings {
        tasks: 400,
        attempts: AttemptCounts { ended: 404, succeeded: 400, failed: 0, killed: 4 },
        speculation: Speculation { started: 6, won: 2, lost: 4, won_seconds: 10.0, lost_seconds: 18.0 },
        machine_time: MachineTime { total: 1800.0, losers: 36.0, ..MachineTime::default() },
        waiting: Waiting { seconds: 120.0, share: Some(0.12) },
        stragglers: Stragglers { tasks: 18, excess_seconds: 200.0, skew: 11, slow_node: 5, other: 2, unclassified: 0 },
        phases: vec![phase(3, "collect at App.scala:12", 300, 70.0), phase(1, "reduceByKey at App.scala:9", 100, 50.0)],
        jobs: Vec::new(),
        slow_nodes: vec![SlowNode {
            node: "h7".to_owned(),
            tasks: 44,
            phases: 2,
            ratio: 2.31,
            ratio_ci95: [1.9, 2.8],
            p: 1e-5,
            p_corrected: 1e-4,
            stragglers: 5,
        }],
        nodes_tested: 10,
        left_out: 0,
        failing_nodes: Vec::new(),
        jobs_left_out: 0,
    }
}

#[test]
fn the_text_begins_with_costs_and_causes() {
    let shown = text(&findings(), &[], 2000);
    let first = "Jobs spent 12.0% of their time (120 s) waiting for the last 5% of tasks. 18 of 400 tasks took more \
                 than 1.5 times as long as the median of their phase; together they took 200 s longer than the median. \
                 11 of the 18 had more input than others: split the input more evenly (repartition, smaller splits, \
                 salted keys). 5 of the 18 ran on a slow node: repair the node or keep tasks off it. ";
    assert!(shown.starts_with(first), "{shown}");
    let shown = shown.replace('\n', " ");
    for sentence in [
        "For 2 of the 18, neither input nor a slow node is the reason. ",
        "1 of 10 nodes tested is slow: h7 takes 2.3 times as long (p = 0.0001).",
        "2 of 6 speculative copies won. Attempts that lost to another attempt of their task took 36.0 s, 2.0% of all machine time.",
    ] {
        assert!(shown.contains(sentence), "{sentence}: {shown}");
    }
}

#[test]
fn tables_show_phases_and_slow_nodes() {
    let shown = text(&findings(), &[], 120);
    let row = shown.lines().find(|line| line.contains("collect at")).unwrap();
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(
        cells,
        [
            "3 collect at App.scala:12",
            "300",
            "302",
            "10.0 s",
            "30.0 s",
            "20 min 35 s",
            "70.0 s",
            "9",
            "4",
            "3",
            "1/2",
            "–"
        ]
    );
    let node = shown.lines().find(|line| line.starts_with("h7")).unwrap();
    let cells: Vec<&str> = node.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells, ["h7", "44", "2", "2.31×", "1.90 to 2.80", "0.0001", "5"]);
}

#[test]
fn approximate_percentiles_are_called_so() {
    for (tasks, is_said) in [(2048, false), (2049, true)] {
        let found = Findings { phases: vec![phase(0, "map", tasks, 1.0)], ..findings() };
        let said = super::explanation(&found, false, 80);
        let note = "For phases of more than 2 048 tasks, p50 and p95 are within 0.4%, unless among the 1 024 longest.";
        assert_eq!(said.contains(note), is_said, "{said}");
    }
}

#[test]
fn lines_fit_widths_from_40_and_phases_stay_distinct() {
    let mut findings = findings();
    findings.phases =
        (0..40).map(|at| phase(at, &format!("mapPartitions at Very{at}Long.scala:{at}"), 1_234_567, 1e5)).collect();
    findings.left_out = 3;
    findings.slow_nodes = (0..20)
        .map(|at| SlowNode {
            node: format!("ip-10-0-0-{at}.eu-west-1.compute.internal"),
            ..findings.slow_nodes[0].clone()
        })
        .collect();
    for width in 40..160 {
        let shown = text(&findings, &[], width);
        let widest = shown.lines().map(columns).max().unwrap();
        assert!(widest <= usize::from(width), "{widest} of {width}:\n{shown}");
        assert!(shown.contains("1 234 567") && shown.contains("28 more phases"), "{shown}");
        let rows: Vec<&str> = shown.lines().filter(|line| line.contains("1 234 567")).collect();
        assert_eq!(rows.len(), PHASES);
    }
}

#[test]
fn control_characters_in_names_are_escaped() {
    let mut findings = findings();
    findings.phases[0].name = Some("evil\x1b[2J\u{202e}name".to_owned());
    findings.slow_nodes[0].node = "h\x07\n7".to_owned();
    for width in [40, 80, 200] {
        let shown = text(&findings, &[], width);
        assert!(
            shown.chars().all(|letter| letter == '\n' || !letter.is_control()) && !shown.contains('\u{202e}'),
            "{shown:?}"
        );
    }
}

#[test]
fn the_text_claims_only_what_the_log_supports() {
    let flat = |findings: &Findings| text(findings, &[], 80).replace('\n', " ");
    let nothing =
        flat(&Findings { attempts: AttemptCounts { ended: 3, ..AttemptCounts::default() }, ..Findings::default() });
    assert_eq!(nothing, "3 attempts ended and none succeeded, so there are no durations to compare. ");

    let mut few = findings();
    few.stragglers = Stragglers { tasks: 3, other: 2, skew: 1, ..Stragglers::default() };
    assert!(flat(&few).contains("These are too few to compare their causes.") && !flat(&few).contains("repartition"));

    let mut unknown = findings();
    unknown.waiting = Waiting { seconds: 0.0, share: None };
    unknown.stragglers = Stragglers { tasks: 18, other: 18, ..Stragglers::default() };
    (unknown.slow_nodes, unknown.nodes_tested) = (Vec::new(), 1);
    for phase in &mut unknown.phases {
        phase.skew = None;
    }
    let shown = flat(&unknown);
    for sentence in [
        "The log does not record when tasks ran,",
        "The log has too few input sizes to test whether more input made them slow.",
        "Slow nodes cannot be detected: this needs two nodes with at least ten finished tasks each,",
    ] {
        assert!(shown.contains(sentence), "{sentence}: {shown}");
    }
    // A cause that could not be tested is not excluded.
    assert!(!shown.contains("the reason") && !shown.contains("18 of the 18"), "{shown}");
    unknown.nodes_tested = 2;
    assert!(flat(&unknown).contains("For 18 of the 18, a slow node is not the reason."), "{}", flat(&unknown));
    unknown.stragglers = Stragglers { tasks: 50, other: 50, ..Stragglers::default() };
    assert!(flat(&unknown).contains("For 100.0%, a slow node is not the reason."), "{}", flat(&unknown));
    unknown.nodes_tested = 1;
    let row = PhaseRow { phase: unknown.phases[0].clone(), nodes_tested: nodes_tested(&unknown) };
    let cells: Vec<String> = CAUSE_COLUMNS.iter().map(|column| (column.cell)(&row)).collect();
    assert_eq!(cells, ["–", "–"]);
    assert_eq!(PHASE_COLUMNS[CAUSES_AT - 1].heading, "strag-\nglers");

    let mut healthy = findings();
    healthy.stragglers = Stragglers::default();
    (healthy.slow_nodes, healthy.speculation) = (Vec::new(), Speculation::default());
    healthy.waiting.seconds = 0.0;
    let shown = flat(&healthy);
    for sentence in [
        "No job waited for the last 5% of its tasks.",
        "No task took more than 1.5 times as long as the median of its phase.",
        "None of 10 nodes tested is slow.",
    ] {
        assert!(shown.contains(sentence), "{sentence}: {shown}");
    }
    for phase in &mut healthy.phases {
        phase.tasks = 19;
    }
    assert!(flat(&healthy).contains("No phase has 20 tasks or more, so waiting for the last 5% was not measured."));

    let mut idle = findings();
    idle.speculation = Speculation::default();
    assert!(
        flat(&idle)
            .contains("is the reason; no speculative copies ran, and speculation helps against such stragglers.")
    );
}

#[test]
fn percentiles_of_a_single_task_are_left_out() {
    let row = |tasks| PhaseRow { phase: phase(0, "join", tasks, 0.0), nodes_tested: true };
    let cells = |tasks| PHASE_COLUMNS[2..5].iter().map(|column| (column.cell)(&row(tasks))).collect::<Vec<_>>();
    assert_eq!(cells(1)[..2], ["–", "–"]);
    assert_eq!(cells(1)[2], cells(2)[2]);
    assert!(!cells(2).contains(&"–".to_owned()));
}

#[test]
fn tails_show_the_distribution_that_fits_best() {
    let uniform = |at: u64| drawn(7, Purpose::Duration, 0, at);
    let pareto: Vec<f64> = (0..500).map(|at| uniform(at).powf(-1.0 / 1.5)).collect();
    let shown = tail(&Fit::of_values(&pareto, 0.0));
    assert!(shown.starts_with("Pareto α 1."), "{shown}");
    let flat: Vec<f64> = (0..500).map(|at| 1.0 + uniform(at)).collect();
    let shown = tail(&Fit::of_values(&flat, 0.0));
    assert!(shown.starts_with("Hill α ") || shown == "light", "{shown}");
    assert_eq!(tail(&Fit::of_values(&[1.0], 0.0)), "–");
    assert_eq!([0.5, 0.012, 0.000_5, 1e-9].map(probability), ["0.50", "0.012", "0.0005", "< 0.0001"]);
}

#[test]
fn a_diagnosis_says_why_stragglers_were_slow_instead() {
    use hindmost_core::metrics::{
        Cause, Diagnosis, NoJobTime, Spent, StragglerCause, StragglersByCause, TimePart, WallTime,
    };
    let part = TimePart {
        what: Spent::FewTasks,
        seconds: 60.0,
        share: 0.6,
        used_share: Some(0.1),
        first_wave_share: None,
        lost_share: None,
        phases: Vec::new(),
        single_tasks: None,
    };
    let diagnosis = Diagnosis {
        wall_time: Some(WallTime {
            from: 0.0,
            to: 100.0,
            seconds: 100.0,
            slots: 8.0,
            slots_known: true,
            used_share: Some(0.5),
            left_free_share: None,
            parts: vec![part],
            no_job: NoJobTime::default(),
        }),
        stragglers: StragglersByCause {
            tasks: 9,
            excess_seconds: 30.0,
            causes: vec![StragglerCause { cause: Cause::FirstWave, tasks: 9, excess_seconds: 30.0 }],
        },
        nodes_tested: 3,
        ..Diagnosis::default()
    };
    let [without, with] = [&[][..], &[diagnosis][..]].map(|all| text(&findings(), all, 120));
    for said in ["slow node", "input"] {
        assert!(without.contains(said) && !with.contains(said), "{said}: {with}");
    }
    for said in ["few tasks", "a first wave for 100.0% (9 tasks)", "None of 3 tested nodes"] {
        let with = with.replace('\n', " ");
        assert!(!without.contains(said) && with.contains(said), "{said}: {with}");
    }
}

#[test]
fn a_part_names_its_longest_phase_and_single_tasks() {
    use hindmost_core::metrics::{NoJobTime, PhaseTime, SingleTasks, Spent, TimePart, WallTime};

    use crate::diagnosis::{details, longest};

    let part = TimePart {
        what: Spent::FewTasks,
        seconds: 60.0,
        share: 0.6,
        used_share: Some(0.1),
        first_wave_share: None,
        lost_share: None,
        phases: vec![PhaseTime { phase: 4, name: None, job: None, tasks: 2, seconds: 6.0 }],
        single_tasks: Some(SingleTasks { phases: 14, seconds: 45.0 }),
    };
    let whole = WallTime {
        from: 0.0,
        to: 100.0,
        seconds: 100.0,
        slots: 8.0,
        slots_known: true,
        used_share: Some(0.5),
        left_free_share: None,
        parts: Vec::new(),
        no_job: NoJobTime::default(),
    };
    assert_eq!(longest(&part), "phase 4 (2 tasks): 10%");
    let mut of = Diagnosis { workers: hindmost_core::metrics::Workers::Executors, ..Diagnosis::default() };
    let said = |set: &str| {
        format!(
            "Of this time, 45.0 s (75.0%) went by in 14 phases of a single task: Spark starts a copy of such a task only after \
             spark.speculation.task.duration.threshold ({set})."
        )
    };
    assert_eq!(details(&part, &whole, &of), [said("not set")]);
    of.settings.insert("spark.speculation.task.duration.threshold".to_owned(), "5s".to_owned());
    assert_eq!(details(&part, &whole, &of), [said("5s in the log")]);
}

#[test]
fn phases_of_few_tasks_are_not_judged_without_a_word() {
    use hindmost_core::metrics::{PhaseSpan, SlotTimeline};

    let of = |tasks: u64, stragglers: u64| {
        let span = PhaseSpan { phase: 0, name: None, tasks, from: 0.0, to: 8.0, machine_seconds: 8.0 };
        let timeline = Some(SlotTimeline { phases: vec![span], ..SlotTimeline::default() });
        let mut one = Diagnosis { timeline, ..Diagnosis::default() };
        one.stragglers.tasks = stragglers;
        crate::diagnosis::small_phases(&one).is_some()
    };
    assert_eq!([of(3, 0), of(4, 0), of(3, 1)], [true, false, false]);
}

#[test]
fn work_that_ran_again_after_it_had_succeeded_is_called_so() {
    use hindmost_core::metrics::{Diagnosis, Spent, TimePart};
    let mut found = findings();
    found.machine_time = MachineTime { total: 10.0, winners: 5.0, repeated: 5.0, ..MachineTime::default() };
    let said = super::speculation(&found).unwrap();
    assert!(said.contains("began after their task had succeeded took 5.00 s, 50.0% of all machine time"), "{said}");
    let mut one = Diagnosis::default();
    one.lost.repeated = 5.0;
    let part = |what| TimePart {
        what,
        seconds: 5.0,
        share: 0.5,
        used_share: None,
        first_wave_share: None,
        lost_share: None,
        phases: Vec::new(),
        single_tasks: None,
    };
    let cure = |one: &Diagnosis| crate::diagnosis::cure_of_part(&part(Spent::Retries), one).unwrap();
    assert!(cure(&one).starts_with("retries (50.0%): work is done again that had succeeded"), "{}", cure(&one));
    one.lost.killed = 1.0;
    assert!(cure(&one).contains("attempts were killed, or they or their outputs were lost"), "{}", cure(&one));
}

#[test]
fn the_phase_whose_failure_ended_a_job_is_named() {
    use hindmost_core::metrics::FailedJob;
    let of = |number: u32| FailedJob {
        job: format!("job {number}: nightly"),
        phase: 2,
        name: Some("stage 2: collect at a.py:9".to_owned()),
        reason: "ExceptionFailure: ValueError".to_owned(),
    };
    let said = |jobs: u32| crate::diagnosis::failed_jobs(&(0..jobs).map(of).collect::<Vec<_>>());
    let one = "Job 0: nightly failed because stage 2: collect at a.py:9 did: ExceptionFailure: ValueError";
    assert_eq!((said(0), said(1)), (None, Some(format!("{one}."))));
    assert!(said(7).unwrap().ends_with("; 2 jobs more failed."), "{:?}", said(7));
}
