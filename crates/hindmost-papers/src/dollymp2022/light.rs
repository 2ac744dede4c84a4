//! Fig. 1 and 4: a lightly loaded cluster (sections 2 and 6.2.1).

use hindmost_core::reproduction::{Claim, Expected, Figure, Measured};

use super::Scale;
use super::readings::ALL;
use super::worlds::{
    Compared, D0, D1, D2, Of, changes, compare_under, light, means_table, percentages, shares_table, wordcount_only,
};
use crate::digest::each;
use crate::plan::{Plan, Runs};
use hindmost_sim::driver::SimulationError;

/// The runs of Fig. 1 and 4, each with one element for each reading.
pub(super) struct Light {
    /// The runs of Fig. 1: each job arrives after the one before it has finished.
    alone: Vec<Compared>,
    /// The runs of Fig. 4: `WordCount` and `PageRank` jobs at light load.
    pub mixed: Vec<Compared>,
}

pub(super) fn plan(plan: &mut Plan, scale: &Scale) -> Result<Light, SimulationError> {
    let mixed = light(scale);
    let mut alone = light(scale);
    wordcount_only(&mut alone);
    // The input has 4 GB instead of 10 GB, so there are fewer tasks. The gap in seconds is longer than any job.
    alone.set.extend([
        ("workload.arrival.every.jobs", 8.0),
        ("workload.arrival.every.gap", 100_000.0),
        ("workload.job.0.phase.0.tasks", 64.0),
        ("workload.job.0.phase.1.tasks", 40.0),
    ]);
    let mut made = Light { alone: Vec::new(), mixed: Vec::new() };
    for filled in ALL {
        made.mixed.push(compare_under(plan, &mixed, filled, "")?);
        // All jobs of Fig. 1 have the same size, so this reading does not apply.
        if filled.name != "wide sizes" {
            made.alone.push(compare_under(plan, &alone, filled, "")?);
        }
    }
    Ok(made)
}

pub(super) fn figure_1(light: &Light, runs: &Runs) -> Figure {
    let cases = &light.alone;
    let mean = |value: &str, policy| changes(cases, runs, value, policy, Of::Capacity, |run| run.running);
    let spread = |value: &str, policy| changes(cases, runs, value, policy, Of::Capacity, |run| run.running_spread);
    let claims = vec![
        Claim::judge(
            "DollyMP² reduces the average running time by nearly 20% against the Capacity Scheduler",
            "2, Fig. 1",
            Expected::near(-20.0, 5.0),
            mean("mean running time of DollyMP² compared with Capacity with speculation", D2),
            "",
        ),
        Claim::judge(
            "The average running time under DollyMP⁰ is close to that under the Capacity Scheduler",
            "2, Fig. 1",
            Expected::near(0.0, 5.0),
            mean("mean running time of DollyMP⁰ compared with Capacity with speculation", D0),
            "The paper says that the Capacity Scheduler's speculation does not help because its backups start too \
             late. In readings in which speculation helps, DollyMP⁰ is much slower because it does not speculate.",
        ),
        Claim::judge(
            "Running times are much more stable under DollyMP¹ than under the Capacity Scheduler",
            "2, Fig. 1",
            Expected::below(0.0),
            spread("standard deviation of running times divided by their mean, DollyMP¹ compared with Capacity", D1),
            "",
        ),
        Claim::judge(
            "Running times are much more stable under DollyMP² than under the Capacity Scheduler",
            "2, Fig. 1",
            Expected::below(0.0),
            spread("standard deviation of running times divided by their mean, DollyMP² compared with Capacity", D2),
            "",
        ),
    ];
    Figure {
        name: "Figure 1".to_owned(),
        about: "A WordCount job with 4 GB of input (64 maps, 40 reduces) runs 8 times, each time after the previous \
                one has finished. The paper's cluster has nodes of unequal speed, and other work runs on them. Here, \
                the tail of the durations and the correlation between copies of a task represent both."
            .to_owned(),
        claims,
        tables: vec![means_table("Figure 1", cases, runs)],
    }
}

pub(super) fn figure_4(light: &Light, runs: &Runs) -> Figure {
    let cases = &light.mixed;
    let flowtime = |value: &str, policy, base| changes(cases, runs, value, policy, base, |run| run.flowtime);
    // Measures by how many per cent flowtimes are longer than running times: by the time that jobs wait for their
    // start.
    let waiting = |case: &Compared| {
        let values = each(&case.get(runs, D2), |run| 100.0 * (run.flowtime / run.running - 1.0));
        Measured::over_seeds(
            &case.reading,
            "mean flowtime compared with mean running time under DollyMP²",
            &values,
            "%",
        )
    };
    let claims = vec![
        Claim::judge(
            "DollyMP reduces the mean flowtime by nearly 10% against the Capacity Scheduler",
            "6.2.1, Fig. 4a",
            Expected::near(-10.0, 5.0),
            flowtime("mean flowtime of DollyMP² compared with Capacity with speculation", D2, Of::Capacity),
            "",
        ),
        Claim::judge(
            "Cloning alone reduces the response time by nearly 15% when the cluster is lightly loaded",
            "1",
            Expected::near(-15.0, 5.0),
            flowtime("mean flowtime of DollyMP² compared with Capacity with speculation", D2, Of::Capacity),
            "This is the comparison for which section 6.2.1 claims 10%. The section Clones and order compares DollyMP² \
             with DollyMP⁰, which differ only in their clones.",
        ),
        Claim::judge(
            "Nearly 95% of the jobs complete within 350 s under DollyMP²",
            "6.2.1, Fig. 4b",
            Expected::near(95.0, 5.0),
            percentages(cases, runs, "share of jobs with a running time of at most 350 s under DollyMP²", D2, |run| {
                run.running_within(350.0)
            }),
            "The load is as in the paper. The durations of tasks are not fitted to the paper's results.",
        ),
        Claim::judge(
            "Only 80% of the jobs complete within 350 s under the Capacity Scheduler",
            "6.2.1, Fig. 4b",
            Expected::near(80.0, 5.0),
            percentages(
                cases,
                runs,
                "share of jobs with a running time of at most 350 s under Capacity",
                Of::Capacity,
                |run| run.running_within(350.0),
            ),
            "The load is as in the paper. The durations of tasks are not fitted to the paper's results.",
        ),
        Claim::judge(
            "DollyMP² outperforms DollyMP¹",
            "6.2.1",
            Expected::below(0.0),
            flowtime("mean flowtime of DollyMP² compared with DollyMP¹", D2, D1),
            "",
        ),
        Claim::judge(
            "Tetris performs quite similarly to the Capacity Scheduler",
            "6.2.1",
            Expected::near(0.0, 5.0),
            flowtime("mean flowtime of Tetris compared with Capacity with speculation", Of::Tetris, Of::Capacity),
            "Capacity speculates and Tetris does not, so they are similar only if speculation changes little.",
        ),
        Claim::judge(
            "The flowtime is very close to the running time",
            "6.2.1",
            Expected::near(0.0, 5.0),
            cases.iter().map(waiting).collect(),
            "",
        ),
    ];
    let mut tables = vec![means_table("Figure 4", cases, runs)];
    if let Some(base) = cases.first() {
        tables.push(shares_table(
            "Figure 4a: share of jobs by flowtime, base reading",
            "flowtime",
            base,
            runs,
            (50.0, 1000.0),
            |run| &run.flowtime_by_second,
        ));
        tables.push(shares_table(
            "Figure 4b: share of jobs by running time, base reading",
            "running time",
            base,
            runs,
            (50.0, 1000.0),
            |run| &run.running_by_second,
        ));
    }
    Figure {
        name: "Figure 4".to_owned(),
        about: "100 jobs arrive 200 s apart on the paper's 30 nodes with 328 cores. Half of them are WordCount jobs \
                (128 to 192 maps of 30 s, 80 to 120 reduces of 27 s), half are PageRank jobs (three iterations of 100 \
                to 150 tasks of 20 s). A task needs two cores. The offered load is 0.23."
            .to_owned(),
        claims,
        tables,
    }
}
