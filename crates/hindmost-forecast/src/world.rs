//! The world of a recorded application: when executors came and left, when phases could start, the policy that ran, and how well
//! a replay of the same policy gives the recorded times.

use std::collections::BTreeMap;
use std::sync::Arc;

use hindmost_core::ids::NodeId;
use hindmost_core::journal::Header;
use hindmost_core::metrics::RecordedTime;
use hindmost_core::time::Time;
use hindmost_math::statistics::{mean, student_interval};
use hindmost_policies::catalogue::{self, spec::PolicySpec};
use hindmost_sim::driver::{AsRecorded, Lag, Outage, RunResult, Setup};
use hindmost_sim::recommendation::OfEngine;
use hindmost_trace::TaskFormat;
use hindmost_trace::replay::{PhaseLag, Presence, RecordedNode, RecordedWorld};

/// Jobs in the order of their arrival.
pub(crate) const FIRST_IN_FIRST_OUT: &str = "fifo";
/// A replay is calibrated if its mean job time differs by at most this share from the recorded one.
const CALIBRATED: f64 = 0.1;

/// What ran an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Apache Spark.
    Spark,
    /// Hadoop MapReduce.
    Hadoop,
    /// Hindmost's own runs.
    Hindmost,
    /// What wrote a log of which each row is an attempt.
    Other(TaskFormat),
}

impl Engine {
    /// Returns the engine with its policy, if it has one of its own beside `none`.
    pub fn of_its_own(self) -> Option<OfEngine> {
        match self {
            Engine::Spark => Some(OfEngine { name: "Spark", system: "spark" }),
            Engine::Hadoop => Some(OfEngine { name: "Hadoop", system: "hadoop" }),
            Engine::Hindmost | Engine::Other(_) => None,
        }
    }
}

/// The world of a recorded application.
#[derive(Clone, Debug)]
pub struct World {
    /// What ran it.
    pub engine: Engine,
    /// What the log shows.
    pub recorded: RecordedWorld,
    /// The policy that ran.
    pub policy: PolicySpec,
    /// The order of jobs, for policies without an order of their own. First in, first out until [`order::settled`](crate::order::settled)
    /// finds another one.
    pub order: String,
}

impl World {
    /// The world of an application of Spark `version`, if the log has it. Spark starts copies on other hosts only: on one host it starts
    /// none, whatever its settings are, unless the log shows copies.
    pub fn of_spark(
        recorded: RecordedWorld,
        version: Option<&str>,
        (executors, had_copies): (&[RecordedNode], bool),
    ) -> World {
        let can_copy = had_copies || !are_on_one_host(executors);
        let policy = if can_copy { spark_policy(&recorded.settings, version) } else { PolicySpec::of("none") };
        World { engine: Engine::Spark, recorded, policy, order: FIRST_IN_FIRST_OUT.to_owned() }
    }

    /// The world of jobs of Hadoop. Without copies in the log it is one without copies, whether they were switched off or none was needed.
    pub fn of_hadoop(recorded: RecordedWorld, had_copies: bool) -> World {
        let policy = if had_copies { hadoop_policy(&recorded.settings) } else { PolicySpec::of("none") };
        World { engine: Engine::Hadoop, recorded, policy, order: FIRST_IN_FIRST_OUT.to_owned() }
    }

    /// The world of a run of Hindmost. `None` if this program does not know the policy.
    pub fn of_journal(recorded: RecordedWorld, header: &Header) -> Option<World> {
        let policy = header.policy.parse().ok()?;
        Some(World { engine: Engine::Hindmost, recorded, policy, order: header.order.clone() })
    }

    /// The world of a log of which each row is an attempt. Such logs don't say that anything started copies.
    pub fn of_tasks(recorded: RecordedWorld, format: TaskFormat) -> World {
        let (policy, order) = (PolicySpec::of("none"), FIRST_IN_FIRST_OUT.to_owned());
        World { engine: Engine::Other(format), recorded, policy, order }
    }

    /// Returns this world if each task can start as soon as the first one of its phase could, and slots are free. `None` if that is no
    /// difference.
    pub fn with_free_starts(&self) -> Option<World> {
        Some(World { recorded: self.recorded.with_free_starts()?, ..self.clone() })
    }

    /// Sets up a run in this world. `are_own_nodes` is true if the run has the recorded executors.
    pub fn set_up(&self, setup: &mut Setup, are_own_nodes: bool) {
        self.set_up_with(setup, if are_own_nodes { &self.recorded.executors } else { &[] }, true);
    }

    /// Sets up a run in this world, whose nodes come and leave like these executors. Unless `are_held_back`, tasks that something else than
    /// slots held back start when there are slots.
    pub fn set_up_with(&self, setup: &mut Setup, executors: &[Presence], are_held_back: bool) {
        let lag = |one: &PhaseLag| lag(one, are_held_back);
        let lags = |job: &hindmost_trace::replay::RecordedJob| job.lags.iter().map(lag).collect();
        let mut as_recorded =
            AsRecorded { lags: self.recorded.jobs.iter().map(lags).collect(), ..AsRecorded::default() };
        // Hindmost and Hadoop before version 2 run a task elsewhere then.
        as_recorded.retries_anywhere = matches!(self.engine, Engine::Spark | Engine::Other(_));
        for (node, presence) in (0..).map(NodeId).zip(executors) {
            let Presence { added, removed, lost, .. } = *presence;
            let time = |at: f64| Time::from_seconds(at.max(0.0));
            if let Some(added) = added {
                let until = if added.is_finite() { time(added) } else { Time::NEVER };
                setup.outages.push(Outage { node, from: Time::ZERO, until });
            }
            match removed {
                Some(removed) if lost => {
                    setup.outages.push(Outage { node, from: time(removed), until: Time::NEVER });
                }
                Some(removed) => as_recorded.leaving.push((node, time(removed))),
                None => {}
            }
        }
        setup.as_recorded = Some(Arc::new(as_recorded));
        setup.correlation = self.likely_share();
    }

    /// Says when executors came and left, if not all were there all the time.
    pub fn about(&self) -> Option<String> {
        let executors = &self.recorded.executors;
        let (later, left) = (
            executors.iter().filter(|one| one.added.is_some()).count(),
            executors.iter().filter(|one| one.removed.is_some()).count(),
        );
        (later + left > 0).then(|| {
            format!(
                "of the {} executors, {later} are added while jobs run and {left} are removed, at their recorded times",
                executors.len()
            )
        })
    }

    /// The likeliest share of the durations that belongs to the tasks; the middle if the log says nothing about it.
    pub fn likely_share(&self) -> f64 {
        let own = &self.recorded.own_share;
        own.likeliest.unwrap_or_else(|| f64::midpoint(own.least, own.most))
    }

    /// The ends of the shares that the log allows, and the likeliest one.
    pub fn shares(&self) -> Vec<f64> {
        let own = &self.recorded.own_share;
        let mut shares = vec![own.least, self.likely_share(), own.most];
        shares.dedup();
        shares
    }

    /// Returns whether the gain at this share counts for the forecast gain: at all shares, if the log says nothing about them.
    pub(crate) fn is_likely(&self, share: f64) -> bool {
        self.recorded.own_share.likeliest.is_none_or(|likeliest| share == likeliest)
    }

    /// Compares the recorded times of the jobs with those of replays of the policy that ran, one for each seed.
    pub fn against(&self, log: &str, replays: &[RunResult]) -> RecordedTime {
        let jobs = &self.recorded.jobs;
        let recorded = mean(&jobs.iter().map(|job| job.seconds).collect::<Vec<f64>>()).unwrap_or(0.0);
        let of_seed = |run: &RunResult| {
            let times = run.flowtime.iter().zip(jobs).map(|(flowtime, job)| flowtime + job.tail);
            mean(&times.filter(|time| time.is_finite()).collect::<Vec<f64>>())
        };
        let replayed: Vec<f64> = replays.iter().filter_map(of_seed).collect();
        let (middle, interval) = (mean(&replayed), student_interval(&replayed));
        let ratio = middle.filter(|_| recorded > 0.0).map(|replayed| replayed / recorded);
        RecordedTime {
            log: log.to_owned(),
            jobs: jobs.len() as u64,
            job_time_mean: recorded,
            policy: self.policy.to_string(),
            replayed_job_time_mean: middle,
            replayed_job_time_ci95: interval,
            ratio,
            calibrated: ratio.is_some_and(|ratio| (ratio - 1.0).abs() <= CALIBRATED),
            task_itself: [self.recorded.own_share.least, self.recorded.own_share.most],
            task_itself_likeliest: self.recorded.own_share.likeliest,
            copies_observed: self.recorded.own_share.copies,
            repeats_observed: self.recorded.own_share.repeats,
            failures: self.recorded.failures,
        }
    }
}

fn lag(recorded: &PhaseLag, are_held_back: bool) -> Lag {
    match recorded {
        PhaseLag::Together(lag) => Lag::Together(Time::from_seconds(*lag)),
        PhaseLag::HeldBack { together, .. } if !are_held_back => Lag::Together(Time::from_seconds(*together)),
        PhaseLag::Each(lags) | PhaseLag::HeldBack { each: lags, .. } => {
            Lag::Each(Arc::new(lags.iter().map(|lag| Time::from_seconds(*lag)).collect()))
        }
    }
}

/// True if all executors are on one host, as far as the log names hosts.
pub(crate) fn are_on_one_host(executors: &[RecordedNode]) -> bool {
    let mut hosts = executors.iter().map(|one| &one.host);
    let first = hosts.next();
    first.is_some_and(|first| !first.is_empty() && hosts.all(|host| host == first))
}

/// Returns Spark's own policy with the settings of an application, or none if speculation was off.
fn spark_policy(settings: &BTreeMap<String, String>, version: Option<&str>) -> PolicySpec {
    let value = |name: &str| settings.get(name).map(|value| value.trim());
    if value("spark.speculation").is_none_or(|on| !on.eq_ignore_ascii_case("true")) {
        return PolicySpec::of("none");
    }
    let number = |name: &str, default: f64| value(name).and_then(|text| text.parse().ok()).unwrap_or(default);
    // Spark 4.0 changed both defaults.
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    let (quantile, multiplier) = if major.is_some_and(|major| major >= 4) { (0.9, 3.0) } else { (0.75, 1.5) };
    let min_runtime = value("spark.speculation.minTaskRuntime").and_then(seconds).unwrap_or(0.1);
    // A number without a unit is in seconds in the last one.
    let kill =
        value("spark.executor.decommission.killInterval").and_then(|text| text.parse().ok().or_else(|| seconds(text)));
    let rare = [
        ("interval", value("spark.speculation.interval").and_then(seconds).filter(|every| *every != 0.1)),
        ("duration_threshold", value("spark.speculation.task.duration.threshold").and_then(seconds)),
        ("kill_interval", kill),
    ];
    let rare: String = rare.iter().filter_map(|(name, value)| Some(format!(",{name}={}", (*value)?))).collect();
    let text = format!(
        "spark(quantile={},multiplier={},min_runtime={min_runtime}{rare})",
        number("spark.speculation.quantile", quantile),
        number("spark.speculation.multiplier", multiplier),
    );
    text.parse().unwrap_or_else(|_| PolicySpec::of("spark"))
}

/// Hadoop's settings of its speculation: the parameter of policy `hadoop`, the name, the default, and the number by which a value is
/// divided to be in the unit of the parameter.
const HADOOP_SPECULATION: [(&str, &str, f64, f64); 5] = [
    ("minimum_allowed", "mapreduce.job.speculative.minimum-allowed-tasks", 10.0, 1.0),
    ("of_total_tasks", "mapreduce.job.speculative.speculative-cap-total-tasks", 0.01, 1.0),
    ("of_running_tasks", "mapreduce.job.speculative.speculative-cap-running-tasks", 0.1, 1.0),
    ("retry_after_no_speculate", "mapreduce.job.speculative.retry-after-no-speculate", 1000.0, 1000.0),
    ("retry_after_speculate", "mapreduce.job.speculative.retry-after-speculate", 15000.0, 1000.0),
];

/// Returns Hadoop's own policy with the settings of a job that differ from the defaults.
pub(crate) fn hadoop_policy(settings: &BTreeMap<String, String>) -> PolicySpec {
    let parameters = HADOOP_SPECULATION.iter().filter_map(|(parameter, name, default, unit)| {
        let value: f64 = settings.get(*name)?.trim().parse().ok()?;
        (value != *default).then(|| format!("{parameter}={}", value / unit))
    });
    let parameters: Vec<String> = parameters.collect();
    if parameters.is_empty() {
        return PolicySpec::of("hadoop");
    }
    // Values that the policy does not take are left out together.
    let text = format!("hadoop({})", parameters.join(","));
    text.parse()
        .ok()
        .filter(|policy: &PolicySpec| catalogue::check(policy).is_ok())
        .unwrap_or_else(|| PolicySpec::of("hadoop"))
}

/// Returns the seconds of a time as Spark's settings write it: a number with a unit, or milliseconds.
pub fn seconds(text: &str) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "" | "ms" => 0.001,
        "us" => 1e-6,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    Some(number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(settings: &[(&str, &str)], version: Option<&str>) -> String {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        spark_policy(&settings, version).to_string()
    }

    #[test]
    fn the_policy_that_ran_follows_from_the_settings() {
        assert_eq!(policy(&[], Some("3.5.1")), "none");
        assert_eq!(policy(&[("spark.speculation", "false")], None), "none");
        let on = ("spark.speculation", "true");
        assert_eq!(policy(&[on], Some("3.5.1")), "spark(min_runtime=0.1,multiplier=1.5,quantile=0.75)");
        assert_eq!(policy(&[on], Some("4.0.0")), "spark(min_runtime=0.1,multiplier=3,quantile=0.9)");
        let settings = [on, ("spark.speculation.multiplier", "2"), ("spark.speculation.minTaskRuntime", "250ms")];
        assert_eq!(policy(&settings, None), "spark(min_runtime=0.25,multiplier=2,quantile=0.75)");
        let rare = [
            on,
            ("spark.speculation.interval", "1s"),
            ("spark.speculation.task.duration.threshold", "2min"),
            ("spark.executor.decommission.killInterval", "60"),
        ];
        let expected =
            "spark(duration_threshold=120,interval=1,kill_interval=60,min_runtime=0.1,multiplier=3,quantile=0.9)";
        assert_eq!(policy(&rare, Some("4.3.0")), expected);
    }

    #[test]
    fn spark_starts_no_copies_on_one_host() {
        let ran = |hosts: &[&str], had_copies: bool| {
            let node = |host: &&str| RecordedNode {
                name: String::new(),
                host: (*host).to_owned(),
                slots: 1,
                slots_known: true,
                added: None,
                removed: None,
            };
            let executors: Vec<RecordedNode> = hosts.iter().map(node).collect();
            let mut recorded = RecordedWorld::default();
            recorded.settings = BTreeMap::from([("spark.speculation".to_owned(), "true".to_owned())]);
            World::of_spark(recorded, None, (&executors, had_copies)).policy.system
        };
        assert_eq!(ran(&["a", "b"], false), "spark");
        assert_eq!(ran(&["a", "a"], false), "none");
        assert_eq!(ran(&["a", "a"], true), "spark", "the log is right");
        assert_eq!(ran(&["", ""], false), "spark", "hosts are not known");
    }

    #[test]
    fn hadoop_has_the_limits_of_its_settings() {
        let policy = |settings: &[(&str, &str)]| {
            let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            hadoop_policy(&settings).to_string()
        };
        let (least, retry) = (HADOOP_SPECULATION[0].1, HADOOP_SPECULATION[4].1);
        assert_eq!(policy(&[]), "hadoop");
        assert_eq!(policy(&[(least, "10"), (retry, "15000")]), "hadoop");
        assert_eq!(policy(&[(least, "2"), (retry, "5000")]), "hadoop(minimum_allowed=2,retry_after_speculate=5)");
        assert_eq!(policy(&[(least, "-2")]), "hadoop");
        assert_eq!(policy(&[(least, "${x}")]), "hadoop");
    }

    #[test]
    fn times_of_settings_have_units() {
        assert_eq!(
            ["3s", "100ms", "250", "2m", "x", ""].map(seconds),
            [Some(3.0), Some(0.1), Some(0.25), Some(120.0), None, None]
        );
    }
}
