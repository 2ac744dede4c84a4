//! What speaks against copies, or limits what a log can say.

use std::collections::BTreeSet;

use crate::recorded::RecordedApplication;
use crate::world::Engine;

/// Fewest tasks from which conclusions about copies are drawn.
const FEW: usize = 50;

/// Returns what to be careful about before copies are switched on.
pub(crate) fn warnings(application: &RecordedApplication) -> Vec<String> {
    let mut all = Vec::new();
    let setting = |name: &str| application.world.recorded.settings.get(name).map(|value| value.trim());
    let version = "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version";
    if setting(version) == Some("2") {
        all.push(format!(
            "{version} is 2: with this committer, two attempts of a task can leave mixed output if one of them fails while it writes. \
             Set it to 1, or use a committer for object stores, before there are copies."
        ));
    }
    if setting("spark.sql.sources.commitProtocolClass").is_some_and(|class| class.contains("DirectParquet")) {
        all.push(
            "The output is written directly, without a commit: copies can leave duplicate or partial files.".to_owned(),
        );
    }
    let hosts: BTreeSet<&str> =
        application.executors.iter().map(|one| if one.host.is_empty() { &*one.name } else { &*one.host }).collect();
    if application.world.engine == Engine::Spark && hosts.len() == 1 {
        all.push(
            "All executors are on one host. Spark starts a copy only on another host, so its speculation would start none."
                .to_owned(),
        );
    }
    let tasks: usize = application.jobs.iter().flat_map(|job| &job.spec.phases).map(|phase| phase.tasks as usize).sum();
    if tasks < FEW {
        all.push(format!("The log has only {tasks} tasks: too few to say much about stragglers."));
    }
    if !all.is_empty() || tasks >= FEW {
        all.push(
            "Tasks that write to a database, a queue or a service of their own do so twice when they are copied."
                .to_owned(),
        );
    }
    all
}

/// True if Spark would start no copy, because all executors are on one host.
pub(crate) fn copies_nothing(application: &RecordedApplication) -> bool {
    let mut hosts = application.executors.iter().map(|one| &one.host);
    let first = hosts.next();
    application.world.engine == Engine::Spark
        && first.is_some_and(|first| !first.is_empty() && hosts.all(|host| host == first))
}
