//! Names and defaults of the settings that are recommended, by the engine's version.

use std::collections::BTreeMap;

use hindmost_core::metrics::SettingChange;

use crate::recorded::RecordedApplication;
use crate::version::Version;
use crate::world::{Engine, seconds};

/// A setting that switches copies of maps or of reduces on in Hadoop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HadoopSpeculation {
    /// Its name: the one that the job's configuration has, otherwise that of the version.
    pub(crate) name: &'static str,
    /// Whether it was on; `None` if the job's configuration is not known or does not have it.
    pub(crate) is_on: Option<bool>,
}

/// Returns the settings that switch copies of maps and of reduces on in Hadoop. Hadoop 2 and later know the old names, too.
pub(crate) fn speculation_of_hadoop(
    version: Option<Version>,
    settings: &BTreeMap<String, String>,
) -> [HadoopSpeculation; 2] {
    let is_old = version.is_some_and(|version| version < (2, 0));
    let of = |name: &'static str, old: &'static str| {
        let names = if is_old { &[old][..] } else { &[name, old][..] };
        let found = names.iter().find_map(|name| Some((*name, settings.get(*name)?)));
        let (name, value) = found.map_or((names[0], None), |(name, value)| (name, Some(value)));
        let is_on = match value.map(|value| value.trim().to_ascii_lowercase()).as_deref() {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        HadoopSpeculation { name, is_on }
    };
    [
        of("mapreduce.map.speculative", "mapred.map.tasks.speculative.execution"),
        of("mapreduce.reduce.speculative", "mapred.reduce.tasks.speculative.execution"),
    ]
}

/// Returns the default of a setting in a version. `None` if it has none, or the version is unknown and matters.
fn default(engine: Engine, version: Option<Version>, name: &str) -> Option<&'static str> {
    let since = |first: Version| version.map(|version| version >= first);
    let changed = |first: Version, before: &'static str, then: &'static str| {
        since(first).map(|is_later| if is_later { then } else { before })
    };
    match (engine, name) {
        (Engine::Hadoop, name) if name.contains("speculative") => Some("true"),
        (Engine::Spark, "spark.speculation") => Some("false"),
        (Engine::Spark, "spark.speculation.quantile") => changed((4, 0), "0.75", "0.9"),
        (Engine::Spark, "spark.speculation.multiplier") => changed((4, 0), "1.5", "3"),
        (Engine::Spark, "spark.locality.wait") => Some("3s"),
        (Engine::Spark, "spark.dynamicAllocation.executorIdleTimeout") => Some("60s"),
        (Engine::Spark, "spark.dynamicAllocation.initialExecutors" | "spark.dynamicAllocation.minExecutors") => {
            Some("0")
        }
        (Engine::Spark, "spark.sql.shuffle.partitions") => Some("200"),
        (Engine::Spark, "spark.sql.adaptive.enabled") => changed((3, 2), "false", "true"),
        (Engine::Spark, "spark.sql.adaptive.skewJoin.enabled") => Some("true"),
        _ => None,
    }
}

/// True if a version has a setting. If the version is unknown, it may.
pub(crate) fn exists(version: Option<Version>, name: &str) -> bool {
    !name.starts_with("spark.sql.adaptive.skewJoin.") || version.is_none_or(|version| version >= (3, 0))
}

/// True if two values of a setting mean the same.
fn is_same(name: &str, one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    let number = |text: &str| -> Option<f64> {
        let plain = text.parse().ok();
        // A number without a unit is in seconds in this setting.
        if name.ends_with("Timeout") { plain.or_else(|| seconds(text)) } else { seconds(text).or(plain) }
    };
    one.eq_ignore_ascii_case(other) || number(one).is_some_and(|one| number(other) == Some(one))
}

/// Returns the change of a setting. `None` if it has this value already, or the version does not have it.
pub(crate) fn change(application: &RecordedApplication, name: &str, value: &str) -> Option<SettingChange> {
    let (world, version) = (&application.world, application.version);
    let recorded = world.recorded.settings.get(name).cloned();
    let now = recorded.as_deref().or_else(|| default(world.engine, version, name));
    let is_set = now.is_some_and(|now| is_same(name, now, value));
    (!is_set && exists(version, name)).then(|| SettingChange {
        name: name.to_owned(),
        recorded,
        value: value.to_owned(),
    })
}

/// Returns the changes of these settings that change anything.
pub(crate) fn changes(application: &RecordedApplication, settings: &[(&str, &str)]) -> Vec<SettingChange> {
    settings.iter().filter_map(|(name, value)| change(application, name, value)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use hindmost_core::metrics::{Spent, TimePart};
    use hindmost_trace::replay::RecordedWorld;
    use hindmost_trace::table::Columns;
    use hindmost_trace::{Wanted, log};

    use super::*;
    use crate::candidates::candidates;
    use crate::version::{version, version_of_hadoop};
    use crate::world::World;

    fn application(version: &str, settings: &[(&str, &str)]) -> RecordedApplication {
        let mut recorded = RecordedWorld::default();
        recorded.settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        RecordedApplication {
            jobs: Vec::new(),
            executors: Vec::new(),
            world: World::of_spark(recorded, Some(version), (&[], false)),
            version: super::super::version::version(version),
            is_sql: true,
        }
    }

    #[test]
    fn settings_that_have_the_value_already_do_not_change() {
        let skew = [("spark.sql.adaptive.enabled", "true"), ("spark.sql.adaptive.skewJoin.enabled", "true")];
        let names = |version: &str, recorded: &[(&str, &str)]| -> Vec<String> {
            changes(&application(version, recorded), &skew).into_iter().map(|one| one.name).collect()
        };
        assert!(names("3.5.1", &[]).is_empty());
        assert!(names("3.0.1", &skew).is_empty());
        assert_eq!(names("3.1.2", &[]), ["spark.sql.adaptive.enabled"]);
        assert_eq!(names("3.5.1", &[("spark.sql.adaptive.skewJoin.enabled", "false")]), [skew[1].0]);
        assert_eq!(names("2.4.5", &[]), ["spark.sql.adaptive.enabled"]);
        let quantile = |version: &str, recorded: &[(&str, &str)], value: &str| {
            change(&application(version, recorded), "spark.speculation.quantile", value).is_some()
        };
        assert!(!quantile("3.5.1", &[], "0.75") && quantile("4.0.0", &[], "0.75") && !quantile("4.0.0", &[], "0.9"));
        // A default must be set if the log has another value.
        assert!(quantile("3.5.1", &[("spark.speculation.quantile", "0.5")], "0.75"));
        assert!(!quantile("3.5.1", &[("spark.speculation.quantile", "0.50")], "0.5"));
        let wait = [("spark.locality.wait", "0")];
        assert!(change(&application("3.5.1", &wait), wait[0].0, "0s").is_none());
    }

    #[test]
    fn no_setting_of_a_real_log_has_the_value_already() {
        let Some(folder) = hindmost_testing::data("") else { return };
        let logs = |folder: &str| -> Vec<PathBuf> {
            let all = std::fs::read_dir(Path::new(&folder)).into_iter().flatten();
            all.filter_map(|one| Some(one.ok()?.path())).collect()
        };
        let kinds = ["spark", "hadoop", "more/spark", "more/hadoop"];
        let few_tasks = TimePart {
            what: Spent::FewTasks,
            seconds: 1.0,
            share: 1.0,
            used_share: None,
            first_wave_share: None,
            lost_share: None,
            single_tasks: None,
            phases: Vec::new(),
        };
        let parts = [few_tasks];
        let mut changed = 0;
        for log in kinds.iter().flat_map(|kind| logs(&folder.join(kind).to_string_lossy())) {
            let Ok(mut read) = log::read(&log, &Columns::default(), Wanted::REPLAYS, None) else { continue };
            let applications = read.take_applications().into_iter().take_while(|one| one.number() < 20);
            for application in applications.filter_map(RecordedApplication::of) {
                for one in candidates(&application, &parts).iter().flat_map(|one| &one.settings) {
                    let engine = application.world.engine;
                    if !matches!(engine, Engine::Spark | Engine::Hadoop) {
                        continue;
                    }
                    let now = one.recorded.as_deref().or_else(|| default(engine, application.version, &one.name));
                    assert!(now.is_none_or(|now| !is_same(&one.name, now, &one.value)), "{log:?}: {one:?}");
                    let is_off = one.recorded.as_deref() == Some("false");
                    assert!(engine == Engine::Spark || one.value == "false" || is_off, "{log:?}: {one:?}");
                    changed += 1;
                }
            }
        }
        assert!(changed > 0);
    }

    #[test]
    fn hadoop_before_2_has_names_of_its_own() {
        assert_eq!(version_of_hadoop("job_200904211745_0002"), Some((1, 0)));
        assert_eq!(version_of_hadoop("job_1329348432655_0001"), None);
        let none = BTreeMap::new();
        let old = ["mapred.map.tasks.speculative.execution", "mapred.reduce.tasks.speculative.execution"];
        assert_eq!(speculation_of_hadoop(Some((1, 0)), &none).map(|one| one.name), old);
        assert_eq!(speculation_of_hadoop(None, &none)[1].name, "mapreduce.reduce.speculative");
        // A configuration may have the old names, and new ones that an old version does not know.
        let settings = [(old[0], " FALSE "), ("mapreduce.reduce.speculative", "true"), (old[1], "x")];
        let settings: BTreeMap<String, String> =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let found = speculation_of_hadoop(None, &settings).map(|one| (one.name, one.is_on));
        assert_eq!(found, [(old[0], Some(false)), ("mapreduce.reduce.speculative", Some(true))]);
        let found = speculation_of_hadoop(Some((1, 0)), &settings).map(|one| (one.name, one.is_on));
        assert_eq!(found, [(old[0], Some(false)), (old[1], None)]);
    }

    #[test]
    fn versions_have_two_numbers() {
        let all = ["3.5.1", "2.4.5.amzn-0", "4.0.0-preview1", "x"].map(version);
        assert_eq!(all, [Some((3, 5)), Some((2, 4)), Some((4, 0)), None]);
    }
}
