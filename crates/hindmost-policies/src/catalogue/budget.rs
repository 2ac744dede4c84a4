//! Finds policies that clone tasks but can never start a clone of a given job on a given cluster.
//!
//! `shed` and `chronos` give other attempts only to jobs with a deadline.

use hindmost_core::resources::{Dimensions, Resources, in_words};
use hindmost_core::workload::JobSpec;
use hindmost_math::plain::Plain;

use super::meaning;
use super::spec::PolicySpec;
use crate::cloning::dolly::{self, Admission, DollyParameters};
use crate::cloning::shed::{Kill, ShedParameters};
use crate::orders::dollymp::DollympParameters;
use crate::parameters::Parameters;
use crate::placement::by_node::is_within_budget;
use crate::speculation::chronos::ChronosParameters;
use crate::theory::chronos::Strategy;

/// What the message adds for a system whose copies of a task may share a node.
const TWO_ON_A_NODE: &str = ", and per_node=2 allows two copies of a task on a node";

/// How a system clones tasks: the parameters of one with a budget, or no budget.
enum Cloning {
    Dolly(DollyParameters),
    Dollymp(DollympParameters),
    /// Shed with one copy of a task on each node.
    Shed,
    Unlimited,
}

/// Returns a message if a cloning policy can never clone a task of this job on a cluster of `nodes` nodes with the
/// resources `total`. The message gives one of three reasons: the policy clones only jobs with a deadline; the cluster has
/// one node and the policy places the copies of a task on different nodes; or the policy's budget is too small. `dollymp`
/// needs a budget for one clone; `dolly`, which clones all tasks of a job or none, needs a budget for the copies or clones
/// of all tasks.
///
/// Returns `None` if clones fit, if the policy does not clone tasks or would not clone this job on any cluster, or if
/// the catalogue does not know the policy's name.
pub fn without_clones(
    spec: &PolicySpec,
    job: &JobSpec,
    dimensions: &Dimensions,
    (nodes, total): (usize, &Resources),
) -> Option<String> {
    let found = meaning(spec).ok()?;
    let cloning = match found.system.name {
        "dolly" => Cloning::Dolly(DollyParameters::read(found.given).ok()?),
        "dollymp" => Cloning::Dollymp(DollympParameters::read(found.given).ok().filter(|dollymp| dollymp.clones > 0)?),
        "shed" | "chronos" if job.deadline.is_none() => {
            return Some(format!("{spec} will start no clone and no backup, because the job has no deadline"));
        }
        "shed" => {
            let shed = ShedParameters::read(found.given).ok()?;
            if let Some(why) = too_few_slots(job, dimensions, total, shed.masters(true)) {
                return Some(format!("{spec} will clone no task of this job: {why}"));
            }
            if shed.per_node > 1 {
                return None;
            }
            Cloning::Shed
        }
        // Under the other strategies some attempts take over the resources of the original.
        "chronos" if ChronosParameters::read(found.given).ok()?.strategy == Strategy::Clone => Cloning::Unlimited,
        _ => return None,
    };
    let advice = match &cloning {
        Cloning::Dolly(_) | Cloning::Unlimited => Some(""),
        Cloning::Shed => Some(TWO_ON_A_NODE),
        Cloning::Dollymp(dollymp) if dollymp.per_node < 2 => Some(TWO_ON_A_NODE),
        Cloning::Dollymp(_) => None,
    };
    if let (Some(advice), ..=1) = (advice, nodes) {
        return Some(format!(
            "{spec} will clone no task, because the copies of a task run on different nodes and there is only one \
             node; --nodes splits this machine into several nodes{advice}"
        ));
    }
    let budget = match &cloning {
        Cloning::Dolly(dolly) => dolly.budget,
        Cloning::Dollymp(dollymp) => dollymp.budget?,
        Cloning::Shed | Cloning::Unlimited => return None,
    };
    let copied = job.phases.iter().filter(|phase| !phase.never_copied && phase.tasks_to_do() > 0);
    let demands = copied.map(|phase| Some((phase.tasks_to_do(), dimensions.demand(&phase.demand).ok()?)));
    let demands: Vec<(u32, Resources)> = demands.collect::<Option<_>>()?;
    let shown = |amount: &Resources| in_words(&dimensions.by_name(amount));
    let needed = match cloning {
        Cloning::Dolly(parameters) => {
            let tasks: u64 = job.phases.iter().map(|phase| u64::from(phase.tasks_to_do())).sum();
            let copies = dolly::copies_for(tasks, parameters.p, parameters.epsilon);
            let counted = parameters.admission.counted(copies);
            let of_phase =
                |(tasks, demand): &(u32, Resources)| dolly::multiple(demand, counted.saturating_mul(u64::from(*tasks)));
            let all = demands.iter().map(of_phase).fold(Resources::NONE, |sum, claim| sum.plus(&claim));
            let is_small = tasks <= u64::from(parameters.small);
            let never = is_small && !dolly::within(&all, budget, total);
            let what = match parameters.admission {
                Admission::Copies => "copies",
                Admission::Clones => "clones",
            };
            never.then(|| format!("the {what} of all tasks of the job together need {}", shown(&all)))
        }
        Cloning::Shed | Cloning::Unlimited => None,
        Cloning::Dollymp(_) => {
            let never = !demands.iter().any(|(_, demand)| is_within_budget(demand, budget, total));
            let shares = demands.iter().map(|(_, demand)| (demand.dominant_share(total), demand));
            let least = shares.min_by(|one, other| one.0.total_cmp(&other.0)).filter(|_| never);
            least.map(|(_, demand)| format!("a clone needs at least {}", shown(demand)))
        }
    }?;
    let allowed = Resources(total.0.map(|units| (units as f64 * budget) as u64));
    let allowed = if allowed == Resources::NONE { "nothing".to_owned() } else { shown(&allowed) };
    Some(format!(
        "{spec} will clone no task of this job: its budget, {} of the cluster, is {allowed}, but {needed}; \
         budget=SHARE sets another budget",
        Plain(budget)
    ))
}

/// Returns a message if fewer slots than a second copy of all tasks needs are left for clones in every phase; `None` if clones
/// fit, or a demand is not known.
fn too_few_slots(job: &JobSpec, dimensions: &Dimensions, total: &Resources, masters: u32) -> Option<String> {
    let mut first = None;
    for phase in job.phases.iter().filter(|phase| !phase.never_copied && phase.tasks_to_do() > 0) {
        let slots = total.times(&dimensions.demand(&phase.demand).ok()?);
        let needed = 2 * u64::from(phase.tasks_to_do()) + u64::from(masters);
        if needed <= slots {
            return None;
        }
        first = first.or(Some((&phase.name, phase.tasks_to_do(), needed, slots)));
    }
    let (phase, tasks, needed, slots) = first?;
    let masters = if masters > 0 { format!(", {masters} of them for the application master") } else { String::new() };
    Some(format!(
        "it clones all unfinished tasks of a phase or none, and two copies of the {tasks} tasks of {phase} need {needed} \
         slots{masters}, but there are {slots}"
    ))
}

/// Returns a message if the policy stops late jobs, but not this one when its deadline has passed, because it is the only job
/// of a live run; `None` for other policies and jobs.
pub fn after_deadline(spec: &PolicySpec, job: &JobSpec) -> Option<String> {
    let found = meaning(spec).ok().filter(|found| found.system.name == "shed" && job.deadline.is_some())?;
    let shed = ShedParameters::read(found.given).ok()?;
    (shed.kill == Kill::Arrival).then(|| {
        format!(
            "{spec} will not stop this job at its deadline, because it stops late jobs when another job arrives, and a run has \
             one job; kill=deadline stops it"
        )
    })
}

/// Returns true if a policy gives other attempts only to jobs with a deadline.
pub fn clones_only_with_deadline(spec: &PolicySpec) -> bool {
    meaning(spec).is_ok_and(|found| matches!(found.system.name, "shed" | "chronos"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindmost_core::time::Time;
    use hindmost_core::workload::{DemandByName, PhaseSpec};

    /// Returns a job of one phase with `tasks` tasks of `cpus` cpus each.
    fn job_of(tasks: u32, cpus: f64) -> JobSpec {
        let phase =
            PhaseSpec { demand: DemandByName::from([("cpus".to_owned(), cpus)]), ..PhaseSpec::new("map", tasks, 1.0) };
        JobSpec::new("job", vec![phase])
    }

    /// Returns the message for a job of one phase with `tasks` tasks of `cpus` cpus each, on two nodes with `cluster`
    /// cpus together.
    fn message(policy: &str, (tasks, cpus): (u32, f64), cluster: f64) -> Option<String> {
        let amounts = |cpus: f64| DemandByName::from([("cpus".to_owned(), cpus)]);
        let job = job_of(tasks, cpus);
        let dimensions = Dimensions::of([&amounts(cluster)]).unwrap();
        let total = dimensions.amounts(&amounts(cluster)).unwrap();
        without_clones(&policy.parse().unwrap(), &job, &dimensions, (2, &total))
    }

    #[test]
    fn on_a_single_node_no_task_is_cloned() {
        let job = JobSpec::new("job", Vec::new());
        let message = |policy: &str, nodes| {
            let spec = policy.parse().unwrap();
            without_clones(&spec, &job, &Dimensions::one_slot(), (nodes, &Resources::ONE_SLOT))
        };
        assert!(
            message("dollymp", 1)
                .unwrap()
                .contains("there is only one node; --nodes splits this machine into several nodes, and")
        );
        assert!(message("dolly", 1).unwrap().ends_with("into several nodes"));
        for (policy, nodes) in [("dollymp", 2), ("dollymp(per_node=2)", 1), ("dollymp(clones=0)", 1), ("mantri", 1)] {
            assert_eq!(message(policy, nodes), None, "{policy}");
        }
    }

    #[test]
    fn policies_for_deadlines_need_a_deadline_and_two_nodes() {
        let message = |policy: &str, deadline, nodes| {
            let job = JobSpec { deadline, ..JobSpec::new("job", Vec::new()) };
            without_clones(&policy.parse().unwrap(), &job, &Dimensions::one_slot(), (nodes, &Resources::ONE_SLOT))
        };
        for policy in ["shed", "fifo+chronos"] {
            let none = message(policy, None, 2).unwrap();
            assert_eq!(none, format!("{policy} will start no clone and no backup, because the job has no deadline"));
        }
        let due = Some(Time::from_seconds(9.0));
        for policy in ["shed", "chronos(strategy=clone)"] {
            assert!(message(policy, due, 1).unwrap().contains("there is only one node"), "{policy}");
            assert_eq!(message(policy, due, 2), None);
        }
        assert!(message("shed", due, 1).unwrap().ends_with("and per_node=2 allows two copies of a task on a node"));
        assert_eq!(message("shed(per_node=2)", due, 1), None);
        // A resumed attempt needs no other node.
        assert_eq!(message("chronos", due, 1), None);
    }

    #[test]
    fn shed_needs_slots_for_a_second_copy_of_all_tasks() {
        let of = |policy: &str, tasks, cluster| {
            let dimensions = Dimensions::of([&DemandByName::from([("cpus".to_owned(), cluster)])]).unwrap();
            let total = dimensions.amounts(&DemandByName::from([("cpus".to_owned(), cluster)])).unwrap();
            let job = JobSpec { deadline: Some(Time::from_seconds(9.0)), ..job_of(tasks, 1.0) };
            without_clones(&policy.parse().unwrap(), &job, &dimensions, (6, &total))
        };
        assert_eq!(of("shed", 3, 6.0), None);
        let why = of("shed", 3, 5.0).unwrap();
        assert!(why.ends_with("two copies of the 3 tasks of map need 6 slots, but there are 5"), "{why}");
        let why = of("shed(masters=1)", 3, 6.0).unwrap();
        assert!(why.ends_with("need 7 slots, 1 of them for the application master, but there are 6"), "{why}");
    }

    #[test]
    fn shed_says_that_a_late_run_goes_on() {
        let job = |deadline| JobSpec { deadline, ..job_of(1, 1.0) };
        let message = |policy: &str, deadline| after_deadline(&policy.parse().unwrap(), &job(deadline));
        let due = Some(Time::from_seconds(9.0));
        assert!(message("fifo+shed", due).unwrap().starts_with("fifo+shed will not stop this job at its deadline"));
        for (policy, deadline) in
            [("shed", None), ("shed(kill=deadline)", due), ("shed(kill=never)", due), ("none", due)]
        {
            assert_eq!(message(policy, deadline), None, "{policy}");
        }
    }

    #[test]
    fn a_budget_too_small_for_any_clone_is_reported() {
        // dolly clones both tasks or none: 5% of 79 cpus are less than the 4 cpus of all copies, 5% of 80 are enough.
        // With the default parameters, the tasks of a job of two to ten tasks get two copies each, and a job of one
        // task gets no clone, because p = epsilon.
        let of_dolly = message("svf+dolly", (2, 1.0), 79.0).unwrap();
        assert_eq!(
            of_dolly,
            "svf+dolly will clone no task of this job: its budget, 0.05 of the cluster, is 3.95 cpus, but the copies \
             of all tasks of the job together need 4 cpus; budget=SHARE sets another budget"
        );
        assert_eq!(message("dolly", (2, 1.0), 80.0), None);
        // With admission=clones only the two clones count.
        let clones = message("dolly(admission=clones)", (2, 1.0), 39.0).unwrap();
        assert!(
            clones.contains("is 1.95 cpus, but the clones of all tasks of the job together need 2 cpus"),
            "{clones}"
        );
        assert_eq!(message("dolly(admission=clones)", (2, 1.0), 40.0), None);
        assert_eq!(message("dolly", (1, 1.0), 4.0), None, "a job of one task needs no clone");
        assert_eq!(message("dolly", (11, 1.0), 4.0), None, "dolly does not clone a job of 11 tasks");
        assert_eq!(message("dolly(budget=1)", (2, 1.0), 4.0), None);
        // dollymp needs a budget for a single clone.
        let of_dollymp = message("dollymp(budget=0.1)", (5, 1.0), 9.0).unwrap();
        let expected = "0.1 of the cluster, is 0.9 cpus, but a clone needs at least 1 cpu";
        assert!(of_dollymp.contains(expected), "{of_dollymp}");
        assert!(message("dollymp(budget=0)", (5, 1.0), 9.0).unwrap().contains("is nothing, but"));
        for policy in ["dollymp(budget=0.1,clones=0)", "dollymp", "dollymp(budget=none)", "mantri", "drf", "nothing"] {
            assert_eq!(message(policy, (5, 1.0), 9.0), None, "{policy}");
        }
        assert_eq!(message("dollymp(budget=0.1)", (5, 1.0), 10.0), None);
    }
}
