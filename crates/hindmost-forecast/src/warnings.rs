//! What speaks against copies, or limits what a log can say.

use std::collections::{BTreeMap, BTreeSet};

use crate::recorded::RecordedApplication;
use crate::world::{Engine, are_on_one_host};

/// Fewest tasks from which conclusions about copies are drawn.
const FEW: usize = 50;

/// Why Spark would start no copy.
pub(crate) const ONE_HOST: &str =
    "All executors are on one host. Spark starts a copy only on another host, so its speculation would start none.";

/// Returns what to be careful about before copies are switched on.
pub(crate) fn warnings(application: &RecordedApplication) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(name) = commits_by_task(&application.world.recorded.settings) {
        all.push(format!(
            "{name} is 2: with this committer, two attempts of a task can leave mixed output if one of them fails while it writes. \
             Set it to 1, or use a committer for object stores, before there are copies."
        ));
    }
    if let Some(name) = writes_directly(&application.world.recorded.settings) {
        all.push(format!(
            "The output is written directly, without a commit ({name}): copies can leave duplicate, partial or corrupt files. \
             Use a committer that commits before there are copies."
        ));
    }
    let hosts: BTreeSet<&str> =
        application.executors.iter().map(|one| if one.host.is_empty() { &*one.name } else { &*one.host }).collect();
    if application.world.engine == Engine::Spark && hosts.len() == 1 {
        all.push(ONE_HOST.to_owned());
    }
    let tasks: usize = application.jobs.iter().flat_map(|job| &job.spec.phases).map(|phase| phase.tasks as usize).sum();
    if tasks < FEW {
        all.push(format!("Only {tasks} tasks of the log finished: too few to say much about stragglers."));
    }
    if !all.is_empty() || tasks >= FEW {
        all.push(
            "Tasks that write to a database, a queue or a service of their own do so twice when they are copied."
                .to_owned(),
        );
    }
    all
}

/// Returns the name of the setting by which each task moves its output into place itself. `None` if it has another value. Spark has the
/// settings of Hadoop with a prefix.
fn commits_by_task(settings: &BTreeMap<String, String>) -> Option<&str> {
    let is_second = |(name, value): &(&String, &String)| {
        let plain = name.strip_prefix("spark.hadoop.").unwrap_or(name);
        plain == "mapreduce.fileoutputcommitter.algorithm.version" && value.trim() == "2"
    };
    settings.iter().find(is_second).map(|(name, _)| &**name)
}

/// Returns the setting that lets tasks write their output directly, so that copies can corrupt it. `None` if there is none.
pub(crate) fn writes_directly(settings: &BTreeMap<String, String>) -> Option<&str> {
    let is_direct = |(name, value): &(&String, &String)| {
        let plain = name.strip_prefix("spark.hadoop.").unwrap_or(name);
        match plain {
            "spark.sql.sources.commitProtocolClass"
            | "spark.sql.sources.outputCommitterClass"
            | "spark.sql.parquet.output.committer.class"
            | "mapred.output.committer.class"
            | "mapreduce.outputcommitter.class"
            | "mapreduce.job.outputformat.class"
            | "mapreduce.outputformat.class"
            | "mapred.output.format.class" => value.contains("Direct"),
            "mapred.output.direct.EmrFileSystem" | "mapred.output.direct.NativeS3FileSystem" => {
                value.trim().eq_ignore_ascii_case("true")
            }
            _ => false,
        }
    };
    settings.iter().find(is_direct).map(|(name, _)| &**name)
}

/// True if Spark would start no copy, because all executors are on one host.
pub(crate) fn copies_nothing(application: &RecordedApplication) -> bool {
    application.world.engine == Engine::Spark && are_on_one_host(&application.executors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committers_that_write_directly_are_found() {
        let found = |name: &str, value: &str| {
            let settings = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            writes_directly(&settings).map(str::to_owned)
        };
        for (name, value) in [
            ("spark.hadoop.mapred.output.committer.class", "org.apache.hadoop.mapred.DirectFileOutputCommitter"),
            ("spark.sql.parquet.output.committer.class", "org.apache.spark.sql.parquet.DirectParquetOutputCommitter"),
            ("spark.sql.sources.outputCommitterClass", "a.DirectOutputCommitter"),
            ("spark.hadoop.mapred.output.direct.EmrFileSystem", "true"),
            ("spark.hadoop.mapred.output.direct.NativeS3FileSystem", "TRUE"),
            ("mapred.output.committer.class", "org.apache.hadoop.mapred.DirectFileOutputCommitter"),
            ("mapreduce.job.outputformat.class", "a.DirectTextOutputFormat"),
            ("mapred.output.direct.EmrFileSystem", "true"),
        ] {
            assert_eq!(found(name, value).as_deref(), Some(name));
        }
        assert_eq!(found("spark.hadoop.mapred.output.direct.EmrFileSystem", "false"), None);
        assert_eq!(found("spark.hadoop.mapred.output.committer.class", "a.FileOutputCommitter"), None);
        assert_eq!(found("mapreduce.job.outputformat.class", "a.TextOutputFormat"), None);
    }

    #[test]
    fn the_second_algorithm_of_committers_is_found() {
        let name = "mapreduce.fileoutputcommitter.algorithm.version";
        for (name, value, is_found) in
            [(name.to_owned(), " 2 ", true), (format!("spark.hadoop.{name}"), "2", true), (name.to_owned(), "1", false)]
        {
            let settings = BTreeMap::from([(name.clone(), value.to_owned())]);
            assert_eq!(commits_by_task(&settings), is_found.then_some(&*name));
        }
    }
}
