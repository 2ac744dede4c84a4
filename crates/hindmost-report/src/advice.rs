//! Says what would have made an application faster.

use hindmost_core::metrics::{Advice, Recommended, RecordedTime, SettingChange};

use crate::comparison::recorded;
use crate::document::{Document, Form, Role, Table};
use crate::text::{capitalised, counted, duration, escaped, percent};

/// The least gain that is worth a change, and the most that it may lose, as shares of the wall time.
const WORTH: f64 = 0.02;
const HARM: f64 = -0.01;
/// Where the other policies are compared.
const REPLAY: &str = " Other policies that the engine does not have are compared by hindmost replay.";
/// The least core-hours that are shown as such.
const SMALL: f64 = 0.005;

/// Adds the advice for an application with so many jobs: recommended changes with their settings, then what was tried beside them,
/// then warnings. Adds nothing without a replay.
pub(crate) fn add_advice(document: &mut Document, advice: &Advice, jobs: u64) {
    let Some(calibration) = &advice.calibration else { return };
    document.heading(2, "What would help");
    document.paragraph_as(Role::Finding, replayed(advice, calibration, jobs));
    if calibration.calibrated {
        add_changes(document, advice);
    }
    if document.form() == Form::Page {
        let tried = advice.tried.iter().map(|one| {
            let [least, most] = range(one);
            [one.title.clone(), share(one.gain_share), least, most, duration(one.gain_seconds.max(0.0))]
        });
        let table = Table::new("All changes that were tried", &["change:", "gain", "least", "most", "time"]);
        document.table(table.with_rows(tried));
    }
}

fn add_changes(document: &mut Document, advice: &Advice) {
    let (recommended, others): (Vec<_>, Vec<_>) = advice.tried.iter().partition(|one| one.recommended);
    // A page has a table of them.
    let others = |beginning| match document.form() {
        Form::Page => String::new(),
        _ => in_short(beginning, &others),
    };
    let (tried, tried_too) = (others("Tried"), others("Tried, too"));
    document.paragraphs(Role::Finding, withheld(advice));
    if recommended.is_empty() {
        document.paragraph_as(Role::Finding, format!("{} {tried}", nothing(advice)).trim_end());
    } else {
        for one in &recommended {
            document.paragraph_as(Role::Finding, sentence(one, is_open(advice)));
            document.code(one.settings.iter().flat_map(of_setting).collect::<Vec<_>>().join("\n"));
        }
        document.paragraph_as(Role::Finding, tried_too);
    }
    document.paragraphs(Role::Finding, reasons(advice));
    if recommended.iter().any(|one| one.is_about_copies) {
        document.paragraphs(Role::Caution, advice.warnings.iter().map(|warning| format!("Careful: {warning}")));
    }
}

/// Compares the recorded times of so many jobs with the replayed ones, and says over how many seeds forecasts are.
fn replayed(advice: &Advice, calibration: &RecordedTime, jobs: u64) -> String {
    let replayed = recorded::sentence_of(calibration, jobs);
    if advice.tried.is_empty() {
        return replayed;
    }
    format!("{replayed} Forecasts are over {}.", counted(advice.seeds, "seed"))
}

/// Returns the least and the largest gain as shares of the wall time.
fn range(one: &Recommended) -> [String; 2] {
    one.gain_share_range.map(share)
}

/// Says that nothing is recommended, and which policy would have helped that the engine does not have.
fn nothing(advice: &Advice) -> String {
    let helps = |one: &&Recommended| {
        let has_no_setting = one.settings.is_empty() && one.condition.is_none() && one.is_about_copies;
        has_no_setting && one.gain_share >= WORTH && one.gain_share_range[0] >= HARM
    };
    match advice.tried.iter().find(helps) {
        Some(one) => format!(
            "No setting of the engine{}. Of the policies that were tried, {} would have saved {} of the wall time ({} to {}), \
             which the engine does not have.",
            if advice.tried.iter().any(|one| !one.settings.is_empty()) || advice.not_offered.is_empty() {
                " would have helped enough"
            } else {
                " is offered; the reason follows"
            },
            one.policy.as_deref().unwrap_or(&one.title),
            share(one.gain_share),
            range(one)[0],
            range(one)[1]
        ),
        None if advice.tried.is_empty() => "No change was tried.".to_owned(),
        None => "Nothing that was tried would have helped enough to be recommended.".to_owned(),
    }
}

/// Says why settings are not offered, and what the log shows of whether copies would take as long as their originals.
fn reasons(advice: &Advice) -> impl Iterator<Item = &str> {
    advice.not_offered.iter().chain(&advice.evidence).map(|words| &**words)
}

/// Says why changes that would gain something are not recommended.
fn withheld(advice: &Advice) -> Option<String> {
    let mut held = advice.tried.iter().filter(|one| !one.recommended && !one.is_bound && one.gain_share_range[1] > 0.0);
    let one = held.find(|one| one.condition.is_some())?;
    let why = one.condition.as_deref().unwrap_or_default();
    Some(format!(
        "Not recommended: {}, although it might save up to {} of the wall time: {why}.",
        one.title,
        range(one)[1]
    ))
}

/// True if the gain of copies may be anything in its range, because the log does not show whether they would take as long as their
/// originals.
fn is_open(advice: &Advice) -> bool {
    let is_unknown = advice.calibration.as_ref().is_some_and(|one| one.task_itself_likeliest.is_none());
    is_unknown && advice.evidence.is_some()
}

/// Returns a change with its gain and its cost. If the gain `is_open`, that of copies has no middle.
fn sentence(one: &Recommended, is_open: bool) -> String {
    let [least, most] = one.gain_share_range;
    let seconds = if one.is_bound { one.gain_seconds_range[1] } else { one.gain_seconds };
    let seconds = duration(seconds.max(0.0));
    let gain = if one.is_bound {
        let condition = one.condition.as_ref().map_or_else(String::new, |condition| format!(", {condition}"));
        format!("up to {} of the wall time ({seconds}){condition}", share(most))
    } else if is_open && one.is_about_copies {
        format!("{} to {} of the wall time, by what the log leaves open (below)", share(least), share(most))
    } else {
        format!("{} of the wall time ({} to {}), {seconds}", share(one.gain_share), share(least), share(most))
    };
    format!("{}: saves {gain}; {}", capitalised(&one.title), cost(one.extra_core_hours))
}

/// Returns a share that may be negative.
fn share(share: f64) -> String {
    if share < 0.0 { format!("−{}", percent(-share)) } else { percent(share) }
}

fn cost(hours: f64) -> String {
    match hours {
        hours if hours.abs() < SMALL => "about as many core-hours.".to_owned(),
        hours if hours > 0.0 => format!("{hours:.2} core-hours more."),
        hours => format!("{:.2} core-hours less.", -hours),
    }
}

/// Returns a setting with its new value, after its value in the log as a comment. In files of settings, a comment has a line of its own.
fn of_setting(setting: &SettingChange) -> [String; 2] {
    // A program is no setting.
    if setting.name == "program" {
        let recorded = setting.recorded.as_deref().unwrap_or("another program");
        return [format!("# the log is of {}; in its place:", escaped(recorded)), setting.value.clone()];
    }
    let was = match &setting.recorded {
        Some(value) => format!("# in the log: {}={}", setting.name, escaped(value)),
        None => format!("# not in the log, so the default: {}", setting.name),
    };
    [was, format!("{}={}", setting.name, setting.value)]
}

/// Names the changes that are not recommended, with the ranges of their gains.
fn in_short(beginning: &str, others: &[&Recommended]) -> String {
    let one = |one: &&Recommended| {
        let [least, most] = one.gain_share_range;
        format!("{} ({} to {})", one.title, share(least), share(most))
    };
    let names: Vec<String> = others.iter().map(one).collect();
    // Policies that the engine does not have are no settings of it.
    let is_other =
        |one: &&&Recommended| one.is_about_copies && one.settings.is_empty() && one.policy.as_deref() != Some("none");
    let all = if others.iter().any(|one| is_other(&one)) { REPLAY } else { "" };
    if names.is_empty() { String::new() } else { format!("{beginning}: {}.{all}", names.join("; ")) }
}

#[cfg(test)]
mod tests {
    use hindmost_core::metrics::RecordedTime;

    use super::*;

    fn text(advice: &Advice, jobs: u64, width: u16) -> String {
        let mut document = Document::new(Form::Terminal);
        add_advice(&mut document, advice, jobs);
        document.text(width)
    }

    fn advice(tried: Vec<Recommended>, calibrated: bool) -> Advice {
        let calibration = RecordedTime {
            log: "log".to_owned(),
            jobs: 1,
            job_time_mean: 10.0,
            policy: "none".to_owned(),
            replayed_job_time_mean: Some(10.0),
            ratio: Some(1.0),
            calibrated,
            task_itself: [0.0, 1.0],
            ..RecordedTime::default()
        };
        Advice { calibration: Some(calibration), tried, ..Advice::default() }
    }

    /// Policy `pace`, which the engine does not have, with this gain.
    fn pace(share: f64, range: [f64; 2]) -> Recommended {
        Recommended {
            title: "copies by Hindmost's policy pace".to_owned(),
            policy: Some("pace".to_owned()),
            is_about_copies: true,
            gain_share: share,
            gain_share_range: range,
            ..Recommended::default()
        }
    }

    fn setting(name: &str, recorded: Option<&str>, value: &str) -> SettingChange {
        SettingChange { name: name.to_owned(), recorded: recorded.map(str::to_owned), value: value.to_owned() }
    }

    /// What the sentence about a policy that the engine does not have begins with.
    const HELPS: &str =
        "No setting of the engine would have helped enough. Of the policies that were tried, pace would have saved";

    #[test]
    fn a_policy_that_helps_is_named_where_no_setting_does() {
        let said = text(&advice(vec![pace(0.08, [0.0, 0.31])], true), 1, 1000);
        assert!(
            said.contains(&format!("{HELPS} 8.0% of the wall time (0.0% to 31.0%), which the engine does not have.")),
            "{said}"
        );
        assert!(said.contains(&format!("Tried: copies by Hindmost's policy pace (0.0% to 31.0%).{REPLAY}")), "{said}");
        // At the limits.
        assert!(nothing(&advice(vec![pace(WORTH, [HARM, 0.31])], true)).starts_with(HELPS));
    }

    #[test]
    fn the_reason_is_given_why_no_setting_is_offered() {
        let one_host = "All executors are on one host.";
        let mut found = advice(vec![pace(0.08, [0.0, 0.31])], true);
        found.not_offered = vec![one_host.to_owned()];
        found.evidence = Some("The log does not show it.".to_owned());
        let said = text(&found, 1, 1000);
        assert!(said.contains("No setting of the engine is offered; the reason follows. Of the policies"), "{said}");
        assert!(said.ends_with("All executors are on one host.\nThe log does not show it.\n"), "{said}");
        // Where another change is recommended, too.
        found.tried.push(Recommended { recommended: true, title: "more tasks".to_owned(), ..Recommended::default() });
        assert!(text(&found, 1, 1000).contains(one_host));
    }

    #[test]
    fn gains_that_the_log_leaves_open_have_no_middle() {
        let one = Recommended { recommended: true, ..pace(0.2, [0.0, 0.4]) };
        let mut found = advice(vec![one], true);
        assert!(text(&found, 1, 1000).contains("saves 20.0% of the wall time (0.0% to 40.0%)"));
        found.evidence = Some("The log does not show it.".to_owned());
        let said = text(&found, 1, 1000);
        assert!(said.contains("saves 0.0% to 40.0% of the wall time, by what the log leaves open (below);"), "{said}");
        found.calibration.as_mut().unwrap().task_itself_likeliest = Some(0.0);
        assert!(text(&found, 1, 1000).contains("saves 20.0% of the wall time (0.0% to 40.0%)"));
    }

    #[test]
    fn all_changes_that_were_tried_are_listed() {
        let of = |number: u32| Recommended { title: format!("change {number}"), ..Recommended::default() };
        let said = text(&advice((0..6).map(of).collect(), true), 1, 1000);
        assert!((0..6).all(|number| said.contains(&format!("change {number} (0.0% to 0.0%)"))), "{said}");
    }

    #[test]
    fn no_policy_is_named_that_helps_too_little_or_has_a_setting() {
        let helps = || pace(0.08, [0.0, 0.31]);
        let other = |change: &dyn Fn(&mut Recommended)| {
            let mut one = helps();
            change(&mut one);
            vec![one]
        };
        let none = "Nothing that was tried would have helped enough to be recommended.";
        assert_eq!(nothing(&advice(Vec::new(), true)), "No change was tried.");
        for tried in [
            vec![pace(0.019, [0.0, 0.31])],
            vec![pace(0.08, [-0.011, 0.31])],
            // Copies can corrupt the output.
            other(&|one| one.condition = Some("tasks write their output directly".to_owned())),
            other(&|one| one.settings = vec![setting("spark.speculation", None, "true")]),
            other(&|one| one.is_about_copies = false),
        ] {
            assert_eq!(nothing(&advice(tried.clone(), true)), none, "{tried:?}");
        }
        let recommended = Recommended { recommended: true, title: "more tasks".to_owned(), ..Recommended::default() };
        let said = text(&advice(vec![recommended, helps()], true), 1, 1000);
        assert!(!said.contains("would have saved") && said.contains("Tried, too: copies by"), "{said}");
        let said = text(&advice(vec![helps()], false), 1, 1000);
        assert!(!said.contains("would have saved") && !said.contains("Tried"), "{said}");
    }

    #[test]
    fn a_program_in_place_of_another_is_no_setting() {
        let of = |recorded: Option<&str>, value: &str| of_setting(&setting("program", recorded, value));
        assert_eq!(of(Some("parallel"), "hindmost map"), ["# the log is of parallel; in its place:", "hindmost map"]);
        assert_eq!(
            of(Some("sbatch"), "hindmost run --engine slurm"),
            ["# the log is of sbatch; in its place:", "hindmost run --engine slurm"]
        );
        assert_eq!(of(None, "hindmost map")[0], "# the log is of another program; in its place:");
        assert_eq!(
            of_setting(&setting("spark.speculation", Some("false"), "true")),
            ["# in the log: spark.speculation=false", "spark.speculation=true"]
        );
    }
}
