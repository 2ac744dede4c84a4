//! The entries of systems and speculation policies.

use hindmost_core::policy::queue_place::Which;

use super::entry::{SystemEntry, system_of};
use super::{XU_LAU, XU_LIU_LAU};
use crate::cloning::dolly::{CloneSmallJobs, DollyParameters};
use crate::cloning::ese::CloneSmallNewJobs;
use crate::cloning::sca::{CloneNewJobs, ScaParameters};
use crate::orders::dollymp::{self, DollympParameters};
use crate::placement::job_by_job::Originals;
use crate::speculation::Speculation;
use crate::speculation::ese::{EseParameters, EseRule};
use crate::speculation::hadoop::{HadoopParameters, HadoopRule};
use crate::speculation::late::{LateParameters, LateRule};
use crate::speculation::mantri::{MantriParameters, MantriRule};
use crate::speculation::pace::{PaceParameters, PaceRule};
use crate::speculation::sda::{SdaParameters, SdaRule};
use crate::speculation::spark::{SparkParameters, SparkRule};

/// The systems, in the order in which they are listed.
pub static SYSTEMS: &[SystemEntry] = &[
    SystemEntry {
        name: "none",
        about: "one copy of each task, no redundancy",
        passes: "[Originals(order)]",
        source: "the baseline",
        order: None,
        build: &system_of(|(), policy| policy.originals(Which::Any)),
    },
    SystemEntry {
        name: "hadoop",
        about: "once nothing of the job is pending, a backup for the task expected to end last",
        passes: "[Originals(order), Backups(hadoop rule, when nothing is pending)]",
        source: "Apache Hadoop MapReduce, DefaultSpeculator",
        order: None,
        build: &system_of(|hadoop: HadoopParameters, policy| {
            policy.originals(Which::Any).pass(Speculation::by(HadoopRule::new(hadoop)))
        }),
    },
    SystemEntry {
        name: "spark",
        about: "once most of a phase has finished, a backup for what runs far longer than its median",
        passes: "[Originals(order), Backups(spark rule: quantile, multiplier, minimum runtime)]",
        source: "Apache Spark 4, TaskSetManager (spark.speculation)",
        order: None,
        build: &system_of(|spark: SparkParameters, policy| {
            policy.originals(Which::Any).pass(Speculation::by(SparkRule::new(spark)))
        }),
    },
    SystemEntry {
        name: "late",
        about: "backups for the slowest quarter by progress rate, longest time to end first, on fast nodes",
        passes: "[Originals(order), Backups(late rule, speculative cap)]",
        source: "Zaharia et al., Improving MapReduce Performance in Heterogeneous Environments, OSDI 2008",
        order: None,
        build: &system_of(|late: LateParameters, policy| {
            policy.originals(Which::Any).pass(Speculation::by(LateRule::new(late)))
        }),
    },
    SystemEntry {
        name: "mantri",
        about: "a backup where it is expected to save resources: P(t_rem > 2 t_new) > delta",
        passes: "[Backups(mantri rule), Originals(order)]",
        source: "Ananthanarayanan et al., Reining in the Outliers in Map-Reduce Clusters using Mantri, OSDI 2010",
        order: None,
        build: &system_of(|mantri: MantriParameters, policy| {
            policy.pass(Speculation::by(MantriRule::new(mantri))).originals(Which::Any)
        }),
    },
    SystemEntry {
        name: "sca",
        about: "clones every task of new jobs as problem P2 says while the cluster is light",
        passes: "[Originals(started jobs, fewest remaining), NewJobs(P2 copies, or one each)]",
        source: XU_LAU,
        order: Some("fewest_remaining"),
        build: &system_of(|sca: ScaParameters, policy| {
            let new_jobs = CloneNewJobs::new(sca, policy.gamma());
            // New jobs that P2 leaves start with one copy of a task.
            policy.originals(Which::Started).pass(new_jobs).originals(Which::Any)
        }),
    },
    SystemEntry {
        name: "sda",
        about: "c - 1 fresh copies for attempts whose remaining time is above sigma mean durations",
        passes: "[Backups(sda rule), Originals(smallest_workload)]",
        source: XU_LAU,
        order: Some("smallest_workload"),
        build: &system_of(|sda: SdaParameters, policy| {
            policy.pass(Speculation::by(SdaRule::new(sda))).originals(Which::Any)
        }),
    },
    SystemEntry {
        name: "ese",
        about: "under heavy load: backups for the longest remaining times, clones for small new jobs",
        passes: "[Backups(ese rule, longest first), Originals(started jobs), NewJobs(small ones cloned by Eq. 29)]",
        source: XU_LAU,
        order: Some("smallest_workload"),
        build: &system_of(|ese: EseParameters, policy| {
            let new_jobs = CloneSmallNewJobs::new(ese, policy.gamma());
            policy.pass(Speculation::by(EseRule::new(ese))).originals(Which::Started).pass(new_jobs)
        }),
    },
    SystemEntry {
        name: "pace",
        about: "backups for what falls behind its phase's pace, originals kept off slow nodes; made for live work",
        passes: "[Backups(saving), Originals(order, by speed), Backups(sooner)]",
        source: "ours",
        order: None,
        build: &system_of(|pace: PaceParameters, policy| {
            let (saving, sooner) =
                (Speculation::by(PaceRule::new(pace, true)), Speculation::by(PaceRule::new(pace, false)));
            policy.pass(saving).pass(Originals::by_speed(pace.slow)).pass(sooner)
        }),
    },
    SystemEntry {
        name: "dollymp",
        about: "jobs by knapsack priorities, packed by best fit; clones of running tasks in the room that is left",
        passes: "[Originals(knapsack order, best fit), Clones(same order, <= clones, budget)]",
        source: XU_LIU_LAU,
        order: Some("dollymp"),
        build: &system_of(|dollymp: DollympParameters, policy| {
            let own = policy.has_own_order();
            let pass = dollymp::pass(policy.fit(), dollymp, own);
            // Another order places its originals in its own way first.
            let policy = if own { policy } else { policy.originals(Which::Any) };
            policy.pass(pass).keeping(dollymp.keep)
        }),
    },
    SystemEntry {
        name: "dolly",
        about: "clones every task of small jobs from the start, within a budget",
        passes: "[Originals(order), Clones(small jobs, budget)]",
        source: "Ananthanarayanan et al., Effective Straggler Mitigation: Attack of the Clones, NSDI 2013",
        order: None,
        build: &system_of(|dolly: DollyParameters, policy| {
            policy.originals(Which::Any).pass(CloneSmallJobs::new(dolly))
        }),
    },
];
