//! The pages of applications of logs, and of all of them.

use std::fmt::Write as _;

use hindmost_core::metrics::{
    Advice, Diagnosis, DiagnosisTotal, FailingNode, FailureCost, FinishedLast, JobSpan, LostWork, NoJobTime, PhaseSpan,
    PhaseTime, Recommended, RecordedTime, SettingChange, SlotTimeline, SlotUse, SlotUses, Spent, StragglerCause,
    StragglersByCause, TaskTime, TimePart, Unsuccessful, Variance, VarianceShare, Waited, WallTime, Workers,
};

use super::*;

/// An application with every kind of finding, whose names are `name`.
fn diagnosis(name: &str, steps: usize) -> Diagnosis {
    let slots = |value: f64| (0..steps).map(|at| value + (at % 7) as f64).collect::<Vec<f64>>();
    let parts = [Spent::FewTasks, Spent::Stragglers, Spent::Work, Spent::Scheduling].into_iter().enumerate();
    let phase = PhaseTime { phase: 7, name: Some(name.to_owned()), job: None, tasks: 20, seconds: 9.0 };
    let part = |(at, what): (usize, Spent)| TimePart {
        what,
        seconds: 40.0 - 10.0 * at as f64,
        share: 0.4 - 0.1 * at as f64,
        used_share: (at < 3).then_some(0.25),
        first_wave_share: (at < 2).then_some(0.125),
        lost_share: (at == 2).then_some(0.5),
        phases: vec![phase.clone()],
        single_tasks: None,
    };
    let share = VarianceShare { share: 0.2, ci95: [0.1, 0.3] };
    let waited = Waited { phases: 1, seconds: 2.5 };
    Diagnosis {
        application: 0,
        id: Some(name.to_owned()),
        name: Some(name.to_owned()),
        jobs: 3,
        tasks: 1234,
        all_tasks: 1300,
        workers: Workers::Executors,
        unsuccessful: Some(Unsuccessful::Failed),
        failed_jobs: Vec::new(),
        wall_time: Some(WallTime {
            from: 0.0,
            to: 100.0,
            seconds: 100.0,
            slots: 64.0,
            slots_known: false,
            used_share: Some(0.5),
            left_free_share: None,
            parts: parts.map(part).collect(),
            no_job: NoJobTime { before_first: 1.0, between: 2.0, after_last: 3.0 },
        }),
        timeline: Some(SlotTimeline {
            seconds: 100.0,
            starts: (0..steps).map(|at| 100.0 * at as f64 / steps as f64).collect(),
            slots: slots(64.0),
            spent: (0..steps).map(|at| if at % 3 == 0 { Spent::Work } else { Spent::FewTasks }).collect(),
            uses: SlotUse::ALL.into_iter().map(|what| SlotUses { what, slots: slots(2.0) }).collect(),
            phases: (0..40)
                .map(|at| PhaseSpan {
                    phase: at,
                    name: Some(name.to_owned()),
                    tasks: 10,
                    from: f64::from(at),
                    to: f64::from(at) + 30.0,
                    machine_seconds: 50.0,
                })
                .collect(),
            other_phases: 9,
            jobs: vec![JobSpan { job: Some(1), from: 0.0, to: 60.0 }, JobSpan { job: None, from: 5.0, to: 100.0 }],
            other_jobs: 0,
        }),
        task_time: TaskTime { seconds: 50.0, garbage_collection: 10.0, ..TaskTime::default() },
        lost: LostWork { failed: 3.0, losers: 2.0, repeated: 0.0, killed: 0.0 },
        failures: vec![FailureCost { reason: name.to_owned(), attempts: 2, seconds: 3.0 }],
        finished_last: FinishedLast { all: waited, long_attempt: waited, ..FinishedLast::default() },
        stragglers: StragglersByCause {
            tasks: 12,
            excess_seconds: 60.0,
            causes: vec![StragglerCause {
                cause: hindmost_core::metrics::Cause::FirstWave,
                tasks: 12,
                excess_seconds: 60.0,
            }],
        },
        variance: Some(Variance {
            tasks: 1234,
            total: 0.5,
            first_wave: share,
            input: share,
            node: None,
            node_time: Some(share),
            rest: share,
            task_itself: [0.2, 0.4],
        }),
        failing_nodes: vec![FailingNode {
            node: name.to_owned(),
            phase: Some(name.to_owned()),
            tasks: 5,
            failed: 5,
            tasks_elsewhere: 30,
            failed_elsewhere: 0,
            p: 1e-6,
            p_corrected: 1e-5,
        }],
        slow_nodes: Vec::new(),
        nodes_tested: 4,
        nodes_untested: hindmost_core::metrics::Untested::default(),
        are_executors_tested: false,
        by_phase: Vec::new(),
        settings: BTreeMap::from([("spark.speculation".to_owned(), name.to_owned())]),
        needs: Vec::new(),
        suggestions: Vec::new(),
        advice: Some(Advice {
            seeds: 5,
            calibration: None,
            tried: vec![Recommended {
                title: name.to_owned(),
                settings: vec![SettingChange {
                    name: name.to_owned(),
                    recorded: Some(name.to_owned()),
                    value: name.to_owned(),
                }],
                recommended: true,
                gain_seconds: 20.0,
                gain_seconds_range: [15.0, 25.0],
                gain_share: 0.2,
                gain_share_range: [0.15, 0.25],
                extra_core_hours: 0.01,
                ..Recommended::default()
            }],
            evidence: Some(name.to_owned()),
            not_offered: vec![name.to_owned()],
            warnings: vec![name.to_owned()],
        }),
    }
}

fn page(one: &Diagnosis, index: Option<&str>) -> String {
    let name = one.name.as_deref().unwrap_or("");
    application_page(&ApplicationPage { diagnosis: one, log: name, warnings: &[name.to_owned()], index })
}

#[test]
fn pages_of_applications_are_sound_for_any_names() {
    for name in HOSTILE {
        sound(&page(&diagnosis(name, 600), Some("report.html")));
    }
    let mut empty = diagnosis("x", 0);
    sound(&page(&empty, None));
    empty.timeline = None;
    sound(&page(&empty, None));
    empty.wall_time = None;
    assert!(page(&empty, None).contains("The log does not record when tasks ran."));
    let largest = page(&diagnosis("a", 600), None);
    assert!(largest.len() < 150_000, "{} bytes", largest.len());
}

#[test]
fn a_page_says_what_was_found() {
    let text = page(&diagnosis("daily", 10), Some("report.html"));
    for said in [
        "It took 100 s, mostly few tasks (40.0%) and stragglers (30.0%).",
        "Few tasks (40.0%): the phases have fewer tasks than there are slots",
        "about 64.0 on average, 50.0% in use",
        " tasks finished, 100 s of wall time",
        "an executor&#39;s first wave",
        "attempts that did not win",
        "spark.speculation",
        "<a href=\"report.html\">All applications</a>",
        "The picture has the 40 phases with the most machine time; 9 are left out.",
        "Between 20% and 40% belong to the tasks themselves",
    ] {
        assert!(text.contains(said), "{said}");
    }
}

#[test]
fn a_page_says_what_is_not_offered_and_what_cures_causes() {
    let mut one = diagnosis("daily", 10);
    let advice = one.advice.as_mut().unwrap();
    advice.calibration = Some(RecordedTime {
        log: "daily".to_owned(),
        jobs: 1,
        job_time_mean: 10.0,
        policy: "none".to_owned(),
        replayed_job_time_mean: Some(10.0),
        ratio: Some(1.0),
        calibrated: true,
        task_itself: [0.0, 1.0],
        ..RecordedTime::default()
    });
    advice.tried[0].recommended = false;
    advice.not_offered = vec!["All executors are on one host.".to_owned()];
    advice.evidence = Some("The log does not show it.".to_owned());
    let text = page(&one, None);
    sound(&text);
    for said in [
        "<p>All executors are on one host.</p>",
        "<p>The log does not show it.</p>",
        "executors that are kept, or fewer",
    ] {
        assert!(text.contains(said), "{said}");
    }
}

#[test]
fn the_page_of_all_applications_sorts_by_wall_time_and_links_every_page() {
    let mut all: Vec<Diagnosis> = (0..3).map(|at| diagnosis(&format!("job-{at}"), 3)).collect();
    for (one, seconds) in all.iter_mut().zip([50.0, 200.0, 100.0]) {
        one.wall_time.as_mut().unwrap().seconds = seconds;
    }
    let of =
        |(at, one): (usize, &Diagnosis)| ApplicationRow::of(one, "logs/day", &format!("log-1-application-{at}.html"));
    let rows: Vec<ApplicationRow> = all.iter().enumerate().map(of).collect();
    let total = DiagnosisTotal::of(all.iter());
    let unread = [UnreadLog { log: "notes.txt".to_owned(), error: "notes.txt is no log".to_owned() }];
    let text = applications_page(&ApplicationsPage { total: &total, rows: &rows, unread: &unread, again: &[] });
    let found = sound(&text);
    let links: Vec<&str> =
        found.iter().filter(|element| element.name == "a").filter_map(|element| element.get("href")).collect();
    // Two parts of each application, then all applications.
    let number = |at: usize| format!("log-1-application-{at}.html");
    assert_eq!(links.len(), 9, "{links:?}");
    assert_eq!(links[6..], [number(1), number(2), number(0)]);
    let mut texts = String::new();
    for element in &found {
        let _ = writeln!(texts, "{}", element.text);
    }
    for said in ["5 min 50 s of wall time in all", "notes.txt is no log", "Where the time of 3 applications went"] {
        assert!(texts.contains(said), "{said}: {texts}");
    }
}

#[test]
fn pages_of_all_applications_are_sound_for_any_names_and_grow_slowly() {
    let all: Vec<Diagnosis> = HOSTILE.iter().map(|name| diagnosis(name, 2)).collect();
    let rows: Vec<ApplicationRow> = (0..1000)
        .map(|at| ApplicationRow::of(&all[at % all.len()], HOSTILE[at % 11], "log-1-application-1.html"))
        .collect();
    let total = DiagnosisTotal::of(all.iter());
    let text = applications_page(&ApplicationsPage { total: &total, rows: &rows, unread: &[], again: &[] });
    sound(&text);
    assert!(text.len() < 600_000, "{} bytes for 1000 applications", text.len());
}

#[test]
fn the_page_of_a_replay_shows_what_really_happened() {
    let compared = compared(vec![result("none", &[], 1.0)]);
    let with = |applications: &[Diagnosis]| {
        comparison_page(&ComparisonPage { compared: &compared, curves: &[], jobs: &[], applications, again: &[] })
    };
    assert!(!with(&[]).contains("What really happened"));
    let several: Vec<Diagnosis> = (0..6).map(|at| diagnosis(&format!("app-{at}"), 5)).collect();
    let text = with(&several);
    sound(&text);
    assert!(text.contains("What really happened") && text.contains("app-3") && !text.contains("app-5"));
    assert!(with(&several[..1]).contains("For what the slots were used"));
}
