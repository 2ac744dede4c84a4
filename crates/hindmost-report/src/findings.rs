//! Renders the findings about the stragglers in a log as text for the terminal: their cost and causes in words, then
//! tables.

use hindmost_core::metrics::{Diagnosis, Durations, Findings, PhaseFinding, SlowNode};
use hindmost_math::fit::{Fit, Preferred};

use crate::diagnosis::{alarms, brief};
use crate::table::{Column, named, narrowed};
use crate::text::{counted, duration, grouped, known, name, names, percent, wrapped};

/// Largest number of phases in the table.
const PHASES: usize = 15;
/// Largest number of slow nodes in the table.
const NODES: usize = 15;
/// Largest number of slow nodes that the text names.
const NODES_NAMED: usize = 3;
/// Smallest number of stragglers for which the text gives causes.
const FEWEST: u64 = 5;
/// Smallest number of stragglers for which the text gives causes as percentages instead of counts.
const FEWEST_IN_PERCENT: u64 = 50;
/// The text recommends speculation if jobs spend at least this share of their time waiting for their last tasks.
const WORTH: f64 = 0.05;
/// Largest width of a node's name in the text, in columns.
const LONGEST_NAME: usize = 24;
const ELLIPSIS: &str = "…";
const UNKNOWN: &str = "–";
/// Tails with at least this tail index are called light, because the longest durations differ little.
const LIGHT: f64 = 10.0;

/// A row of the table of phases.
struct PhaseRow {
    phase: PhaseFinding,
    /// Whether nodes could be tested for slowness.
    nodes_tested: bool,
}

/// The columns of the table of phases after the phase's name, from left to right.
const PHASE_COLUMNS: &[Column<PhaseRow>] = &[
    Column { heading: "tasks", from_width: 0, cell: |row| grouped(row.phase.tasks) },
    Column { heading: "attempts", from_width: 110, cell: |row| grouped(row.phase.attempts.ended) },
    Column { heading: "p50", from_width: 50, cell: |row| quantile(&row.phase, row.phase.durations.p50) },
    Column { heading: "p95", from_width: 70, cell: |row| quantile(&row.phase, row.phase.durations.p95) },
    Column { heading: "max", from_width: 40, cell: |row| known(row.phase.durations.max) },
    Column { heading: "waited", from_width: 0, cell: |row| waited(&row.phase) },
    Column { heading: "strag-\nglers", from_width: 60, cell: |row| grouped(row.phase.stragglers.tasks) },
    Column { heading: "copies\nwon/lost", from_width: 100, cell: |row| copies(&row.phase) },
    Column { heading: "tail", from_width: 80, cell: |row| tail(&row.phase.fit) },
];

/// The position of the columns of causes.
const CAUSES_AT: usize = 7;

/// The columns of the table of phases with causes, unless a diagnosis has these.
const CAUSE_COLUMNS: &[Column<PhaseRow>] = &[
    Column {
        heading: "more\ninput",
        from_width: 90,
        cell: |row| cause(&row.phase, row.phase.skew.is_some(), row.phase.stragglers.skew),
    },
    Column {
        heading: "slow\nnode",
        from_width: 95,
        cell: |row| cause(&row.phase, row.nodes_tested, row.phase.stragglers.slow_node),
    },
];

/// The columns of the table of slow nodes after the node's name, from left to right.
const NODE_COLUMNS: &[Column<SlowNode>] = &[
    Column { heading: "tasks", from_width: 45, cell: |node| grouped(node.tasks) },
    Column { heading: "phases", from_width: 70, cell: |node| grouped(node.phases) },
    Column { heading: "times\nas long", from_width: 0, cell: |node| format!("{:.2}×", node.ratio) },
    Column {
        heading: "95%\ninterval",
        from_width: 55,
        cell: |node| format!("{:.2} to {:.2}", node.ratio_ci95[0], node.ratio_ci95[1]),
    },
    Column { heading: "p,\ncorrected", from_width: 0, cell: |node| probability(node.p_corrected) },
    Column { heading: "strag-\nglers", from_width: 60, cell: |node| grouped(node.stragglers) },
];

/// Returns the findings as text of at most `width` columns; below 40 columns, lines may be longer than that. `applications` are
/// the diagnoses of the same log. If they have times, they say why stragglers were slow; otherwise the findings do.
pub fn text(findings: &Findings, applications: &[Diagnosis], width: u16) -> String {
    let columns = usize::from(width);
    let diagnosed = findings.tasks > 0 && applications.iter().any(|one| one.wall_time.is_some());
    let mut text = alarms(applications, width) + &wrapped(&summary(findings, diagnosed), columns, 0) + "\n";
    if diagnosed {
        text += &format!("\n{}", brief(applications, width));
    }
    if !findings.phases.is_empty() {
        text += &format!("\n{}\n", phases(findings, diagnosed, width));
        let more = (findings.phases.len().saturating_sub(PHASES)) as u64 + findings.left_out;
        if more > 0 {
            text += &(wrapped(&format!("{ELLIPSIS} and {}", counted(more, "more phase")), columns, 0) + "\n");
        }
        text += &format!("\n{}\n", wrapped(&explanation(findings, diagnosed, width), columns, 0));
    }
    if !findings.slow_nodes.is_empty() && !diagnosed {
        let shown = &findings.slow_nodes[..findings.slow_nodes.len().min(NODES)];
        let labels: Vec<&str> = shown.iter().map(|node| node.node.as_str()).collect();
        text += &format!("\n{}\n", table("slow node", &labels, shown, NODE_COLUMNS, width));
        if let Some(more) = findings.slow_nodes.len().checked_sub(NODES).filter(|more| *more > 0) {
            text += &format!("{ELLIPSIS} and {}\n", counted(more as u64, "more slow node"));
        }
    }
    text
}

/// Describes in words how much time stragglers cost, what causes them, and what helps against them.
fn summary(findings: &Findings, diagnosed: bool) -> String {
    if findings.tasks == 0 {
        return format!(
            "{} ended and none succeeded, so there are no durations to compare.",
            counted(findings.attempts.ended, "attempt")
        );
    }
    let mut said = vec![cost(findings)];
    if !diagnosed {
        said.extend(causes(findings));
        said.push(node_test(findings));
    }
    said.extend(speculation(findings));
    said.join(" ")
}

/// Describes how long jobs waited for their last tasks.
fn cost(findings: &Findings) -> String {
    let waiting = findings.waiting;
    match waiting.share {
        None => "The log does not record when tasks ran, so how long jobs waited for their last tasks is unknown."
            .to_owned(),
        Some(share) if waiting.seconds > 0.0 => format!(
            "Jobs spent {} of their time ({}) waiting for the last 5% of tasks.",
            percent(share),
            duration(waiting.seconds)
        ),
        Some(_) if findings.left_out == 0 && findings.phases.iter().all(|phase| phase.tasks < 20) => {
            "No phase has 20 tasks or more, so waiting for the last 5% was not measured.".to_owned()
        }
        Some(_) => "No job waited for the last 5% of its tasks.".to_owned(),
    }
}

/// Describes how many stragglers there are, and their causes.
fn causes(findings: &Findings) -> Vec<String> {
    let found = &findings.stragglers;
    if found.tasks == 0 {
        return vec!["No task took more than 1.5 times as long as the median of its phase.".to_owned()];
    }
    let mut said = vec![format!(
        "{} of {} took more than 1.5 times as long as the median of {} phase; together they took {} longer than the median.",
        grouped(found.tasks),
        counted(findings.tasks, "task"),
        if found.tasks == 1 { "its" } else { "their" },
        duration(found.excess_seconds)
    )];
    let classified = found.skew + found.slow_node + found.other;
    let of_all = |count: u64| format!("{} of the {}", grouped(count), grouped(classified));
    let in_percent = classified >= FEWEST_IN_PERCENT;
    let share = |count: u64| if in_percent { percent(count as f64 / classified as f64) } else { of_all(count) };
    let of_what = match (found.unclassified > 0, in_percent) {
        (true, _) => format!(" of the {} longest of them in each phase", grouped(1024)),
        (false, true) => " of these".to_owned(),
        (false, false) => String::new(),
    };
    if classified < FEWEST {
        said.push("These are too few to compare their causes.".to_owned());
        return said;
    }
    let inputs_tested = findings.phases.iter().any(|phase| phase.skew.is_some());
    if found.skew > 0 {
        said.push(format!(
            "{}{of_what} had more input than others: split the input more evenly (repartition, smaller splits, \
             salted keys).",
            share(found.skew)
        ));
    } else if !inputs_tested {
        said.push("The log has too few input sizes to test whether more input made them slow.".to_owned());
    } else if !findings.phases.iter().any(|phase| phase.skew.is_some_and(|skew| skew.explains)) {
        said.push("More input does not explain them.".to_owned());
    }
    if found.slow_node > 0 {
        said.push(format!("{} ran on a slow node: repair the node or keep tasks off it.", share(found.slow_node)));
    }
    if found.other > 0 {
        let advice = if findings.speculation.started == 0 && findings.waiting.share >= Some(WORTH) {
            "; no speculative copies ran, and speculation helps against such stragglers"
        } else {
            ""
        };
        said.extend(match (inputs_tested, nodes_tested(findings)) {
            (true, true) => {
                Some(format!("For {}, neither input nor a slow node is the reason{advice}.", share(found.other)))
            }
            (true, false) => Some(format!("For {}, more input is not the reason.", share(found.other))),
            (false, true) => Some(format!("For {}, a slow node is not the reason.", share(found.other))),
            (false, false) => None,
        });
    }
    said
}

/// Returns whether enough nodes were tested for slowness to say that a node is not slow.
fn nodes_tested(findings: &Findings) -> bool {
    findings.nodes_tested >= 2 || !findings.slow_nodes.is_empty()
}

/// Describes which nodes are slow by a statistical test.
fn node_test(findings: &Findings) -> String {
    let slow = &findings.slow_nodes;
    if !nodes_tested(findings) {
        return "Slow nodes cannot be detected: this needs two nodes with at least ten finished tasks each, of phases \
                that ran on other nodes too."
            .to_owned();
    }
    if slow.is_empty() {
        return format!("None of {} tested is slow.", counted(findings.nodes_tested, "node"));
    }
    let named: Vec<String> = slow
        .iter()
        .take(NODES_NAMED)
        .map(|node| {
            let short = name(&node.node, LONGEST_NAME, ELLIPSIS);
            format!("{short} takes {:.1} times as long ({})", node.ratio, with_probability(node.p_corrected))
        })
        .collect();
    let more = slow.len().saturating_sub(NODES_NAMED);
    let more = if more > 0 { format!(", and {} more", grouped(more as u64)) } else { String::new() };
    format!(
        "{} of {} tested {} slow: {}{more}.",
        grouped(slow.len() as u64),
        counted(findings.nodes_tested, "node"),
        if slow.len() == 1 { "is" } else { "are" },
        named.join(", ")
    )
}

/// Describes the speculative copies and the machine time that lost and repeated attempts took; `None` if there are
/// none.
fn speculation(findings: &Findings) -> Option<String> {
    let found = &findings.speculation;
    let time = &findings.machine_time;
    let mut said = String::new();
    if found.started > 0 {
        let won = if found.won == 0 { "None".to_owned() } else { grouped(found.won) };
        let copies = if found.started == 1 { "copy" } else { "copies" };
        said = format!("{won} of {} speculative {copies} won.", grouped(found.started));
    }
    if time.losers > 0.0 {
        let gap = if said.is_empty() { "" } else { " " };
        let share = percent(time.losers / time.total);
        said += &format!(
            "{gap}Attempts that lost to another attempt of their task took {}, {share} of all machine time.",
            duration(time.losers)
        );
    }
    if time.repeated > 0.0 {
        let gap = if said.is_empty() { "" } else { " " };
        said += &format!(
            "{gap}Attempts that began after their task had succeeded took {}, {} of all machine time: its output was lost, or the work was run \
             again.",
            duration(time.repeated),
            percent(time.repeated / time.total)
        );
    }
    (!said.is_empty()).then_some(said)
}

/// Formats a percentile of a phase's durations. All percentiles of one task are equal, so only its maximum is shown.
fn quantile(phase: &PhaseFinding, seconds: Option<f64>) -> String {
    known(seconds.filter(|_| phase.tasks > 1))
}

/// Formats how long a phase waited for the last 5% of its tasks; a dash if it has fewer than 20 tasks.
fn waited(phase: &PhaseFinding) -> String {
    if phase.finish.is_none() || phase.tasks < 20 { UNKNOWN.to_owned() } else { duration(phase.waiting.seconds) }
}

/// Formats a number of stragglers with a cause; a dash if the phase has no stragglers or the cause could not be tested.
fn cause(phase: &PhaseFinding, tested: bool, count: u64) -> String {
    if phase.stragglers.tasks == 0 || !tested { UNKNOWN.to_owned() } else { grouped(count) }
}

/// Formats the numbers of copies that won and lost; a dash if there were no copies.
fn copies(phase: &PhaseFinding) -> String {
    let found = &phase.speculation;
    if found.started == 0 { UNKNOWN.to_owned() } else { format!("{}/{}", grouped(found.won), grouped(found.lost)) }
}

/// Formats the distribution that fits the durations best, with its parameter.
fn tail(fit: &Fit) -> String {
    let pareto = || fit.pareto.map(|pareto| format!("Pareto α {:.2}", pareto.alpha));
    let log_normal = || fit.log_normal.map(|log_normal| format!("log-n. σ {:.2}", log_normal.sigma));
    let hill = || {
        fit.hill.map(|hill| if hill.alpha < LIGHT { format!("Hill α {:.2}", hill.alpha) } else { "light".to_owned() })
    };
    let text = match fit.preferred {
        Some(Preferred::Pareto) => pareto(),
        Some(Preferred::LogNormal) => log_normal(),
        Some(Preferred::Either) => Some("either".to_owned()),
        // Hill's estimate of the tail index uses only the longest durations, so it needs no model of all of them.
        Some(Preferred::Neither) => hill().or(Some("neither".to_owned())),
        None => None,
    };
    text.unwrap_or(UNKNOWN.to_owned())
}

/// Formats a probability with two decimals, or with three or four if it is small.
fn probability(p: f64) -> String {
    match p {
        _ if p.is_nan() => UNKNOWN.to_owned(),
        ..0.0001 => "< 0.0001".to_owned(),
        ..0.001 => format!("{p:.4}"),
        ..0.1 => format!("{p:.3}"),
        _ => format!("{p:.2}"),
    }
}

fn with_probability(p: f64) -> String {
    let text = probability(p);
    if text.starts_with('<') { format!("p {text}") } else { format!("p = {text}") }
}

fn phases(findings: &Findings, diagnosed: bool, width: u16) -> String {
    let shown = &findings.phases[..findings.phases.len().min(PHASES)];
    let several = shown.iter().any(|phase| phase.application != shown[0].application);
    let labels: Vec<String> = shown.iter().map(|phase| label(phase, several)).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let nodes_tested = nodes_tested(findings);
    let rows: Vec<PhaseRow> = shown.iter().map(|phase| PhaseRow { phase: phase.clone(), nodes_tested }).collect();
    let mut columns = PHASE_COLUMNS.to_vec();
    if !diagnosed {
        columns.splice(CAUSES_AT..CAUSES_AT, CAUSE_COLUMNS.iter().copied());
    }
    table("phase", &labels, &rows, &columns, width)
}

/// Returns the number and the name of a phase.
fn label(phase: &PhaseFinding, with_application: bool) -> String {
    let number =
        if with_application { format!("{}/{}", phase.application, phase.phase) } else { phase.phase.to_string() };
    // The names of Spark's stages contain their number.
    let parts = phase.name.as_deref().map(|name| (name, name.strip_prefix(&format!("stage {}", phase.phase))));
    match parts {
        Some((_, Some(rest))) => format!("{number}{rest}"),
        Some((name, None)) => format!("{number} {name}"),
        None => number,
    }
}

fn table<T>(what: &str, labels: &[&str], rows: &[T], columns: &[Column<T>], width: u16) -> String {
    let name_width = (usize::from(width) / 4).max(what.len());
    narrowed(columns, width, name_width, |columns, name_width| {
        named(what, names(labels, name_width, ELLIPSIS).into_iter().zip(rows), columns)
    })
}

/// Explains the columns that the table of phases shows at this width.
fn explanation(findings: &Findings, diagnosed: bool, width: u16) -> String {
    let (exact, longest) = (grouped(Durations::EXACT), grouped(Durations::EXACT / 2));
    let approximate = format!(
        "For phases of more than {exact} tasks, p50 and p95 are within 0.4%, unless among the {longest} longest."
    );
    let mut notes =
        vec!["waited: time from the end of 95% of a phase's tasks to the end of all, for 20 tasks or more."];
    if findings.phases.len() > 1 {
        notes.push("The phase with the longest wait is first, then the one with the most machine time.");
    }
    if width >= 90 && !diagnosed && findings.phases.iter().any(|phase| phase.stragglers.tasks > 0) {
        notes.push("more input, slow node: stragglers with this cause; a dash if it could not be tested.");
    }
    if width >= 40 {
        notes.push(match width {
            ..50 => "max: longest duration of a winning attempt.",
            50..70 => "p50, max: median and longest duration of the winning attempts.",
            _ => "p50, p95, max: median, 95th percentile and longest duration of the winning attempts.",
        });
    }
    if width >= 50 && findings.phases.iter().take(PHASES).any(|phase| phase.tasks > Durations::EXACT) {
        notes.push(&approximate);
    }
    let preferred = |what| findings.phases.iter().take(PHASES).any(|phase| phase.fit.preferred == Some(what));
    if width >= 80 {
        if preferred(Preferred::Pareto) {
            notes.push("Pareto α: durations fit a Pareto distribution with tail index α; the tail is heavy below 2.");
        }
        if preferred(Preferred::LogNormal) {
            notes.push("log-n. σ: durations fit a log-normal distribution; σ is their logarithms' standard deviation.");
        }
        if preferred(Preferred::Either) {
            notes.push("either: Pareto and log-normal both fit, and the data do not show which one fits better.");
        }
        if preferred(Preferred::Neither) {
            notes.push(
                "Hill α: neither Pareto nor log-normal fits; α is the tail index of the longest tenth of the \
                 durations. light: this α is 10 or more, so the longest durations differ little. neither: there is no \
                 estimate of α.",
            );
        }
    }
    notes.join(" ")
}

#[cfg(test)]
mod tests;
