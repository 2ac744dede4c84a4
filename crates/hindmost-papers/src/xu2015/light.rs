//! Fig. 2: SCA and SDA against Mantri at light load (sections IV-C and V-C).

use hindmost_core::estimator::Knowledge;
use hindmost_core::reproduction::{Claim, DataTable, Expected, Figure, Measured};

use super::readings::{
    AGE, BASE, EARLY, FAIR, FIFO, MANTRI_LATE, MANTRI_RANDOM, ORACLE, ORACLE_AGAINST_RANDOM, RANDOM, RESTARTS, SLOT_1,
    TWO_COPIES,
};
use super::{FLOWTIME, RESOURCE, Scale, USAGE, percent_near, shares_table};
use crate::digest::{Digest, FLOWTIME_GRID, RESOURCE_GRID, average, change, each};
use crate::plan::{Handle, Plan, Runs, World};
use hindmost_sim::driver::SimulationError;

/// A policy's runs under a reading.
type Named = (&'static str, Handle);

/// The runs that the figure needs.
pub(super) struct Light {
    /// Time for which jobs arrive, in units of time.
    horizon: f64,
    none: Handle,
    sca: Vec<Named>,
    sda: Vec<Named>,
    mantri: Vec<Named>,
    /// The readings under which SCA is compared with Mantri, each with the runs of SCA and of Mantri.
    sca_mantri: Vec<(&'static str, Handle, Handle)>,
    /// The readings under which SDA is compared with Mantri, each with the runs of SDA and of Mantri.
    sda_mantri: Vec<(&'static str, Handle, Handle)>,
}

/// Returns the cluster and jobs of Fig. 2.
pub(super) fn world(scale: &Scale, knowledge: Knowledge) -> World {
    World {
        scenario: "xu2015-light",
        put: Vec::new(),
        set: vec![
            ("horizon", scale.horizon),
            ("cluster.machines", 3000.0),
            ("workload.arrival.poisson.rate", 6.0),
            ("workload.duration.pareto.alpha", 2.0),
        ],
        slot: 0.1,
        knowledge,
        seeds: scale.seeds,
    }
}

pub(super) fn plan(plan: &mut Plan, scale: &Scale) -> Result<Light, SimulationError> {
    let base = world(scale, Knowledge::Progress(0.2));
    let oracle = world(scale, Knowledge::Oracle);
    let early = world(scale, Knowledge::Progress(0.1));
    let late = world(scale, Knowledge::Progress(0.5));
    let random = world(scale, Knowledge::ProgressUniform);
    let slot_1 = World { slot: 1.0, ..base.clone() };

    let none = plan.add(&base, "none")?;
    let sca = plan.add(&base, "sca")?;
    let sca_two = plan.add(&base, "sca(max_copies=2)")?;
    let sca_slot = plan.add(&slot_1, "sca")?;
    let [sda, sda_oracle, sda_early, sda_random, sda_slot] =
        [&base, &oracle, &early, &random, &slot_1].map(|world| plan.add(world, "sda"));
    let (sda, sda_oracle, sda_early, sda_random, sda_slot) = (sda?, sda_oracle?, sda_early?, sda_random?, sda_slot?);
    let [mantri, mantri_oracle, mantri_early, mantri_random, mantri_late, mantri_slot] =
        [&base, &oracle, &early, &random, &late, &slot_1].map(|world| plan.add(world, "mantri"));
    let (mantri, mantri_oracle, mantri_early) = (mantri?, mantri_oracle?, mantri_early?);
    let (mantri_random, mantri_late, mantri_slot) = (mantri_random?, mantri_late?, mantri_slot?);
    let age = world(scale, Knowledge::Age);
    let (sda_age, mantri_age) = (plan.add(&age, "sda")?, plan.add(&age, "mantri")?);
    let restarts = plan.add(&base, "mantri(kill_restart=true)")?;
    let fair = plan.add(&base, "fair+mantri")?;
    let fifo = plan.add(&base, "fifo+mantri")?;

    Ok(Light {
        horizon: scale.horizon,
        none,
        sca: vec![(BASE, sca), (SLOT_1, sca_slot), (TWO_COPIES, sca_two)],
        sda: vec![
            (BASE, sda),
            (ORACLE, sda_oracle),
            (EARLY, sda_early),
            (RANDOM, sda_random),
            (AGE, sda_age),
            (SLOT_1, sda_slot),
        ],
        mantri: vec![
            (BASE, mantri),
            (ORACLE, mantri_oracle),
            (EARLY, mantri_early),
            (RANDOM, mantri_random),
            (AGE, mantri_age),
            (MANTRI_LATE, mantri_late),
            (RESTARTS, restarts),
            (FAIR, fair),
            (FIFO, fifo),
            (SLOT_1, mantri_slot),
        ],
        sca_mantri: vec![
            (BASE, sca, mantri),
            (ORACLE, sca, mantri_oracle),
            (EARLY, sca, mantri_early),
            (RANDOM, sca, mantri_random),
            (AGE, sca, mantri_age),
            (MANTRI_LATE, sca, mantri_late),
            (RESTARTS, sca, restarts),
            (FAIR, sca, fair),
            (FIFO, sca, fifo),
            (SLOT_1, sca_slot, mantri_slot),
            (TWO_COPIES, sca_two, mantri),
        ],
        sda_mantri: vec![
            (BASE, sda, mantri),
            (ORACLE, sda_oracle, mantri_oracle),
            (EARLY, sda_early, mantri_early),
            (RANDOM, sda_random, mantri_random),
            (AGE, sda_age, mantri_age),
            (MANTRI_LATE, sda, mantri_late),
            (MANTRI_RANDOM, sda, mantri_random),
            (ORACLE_AGAINST_RANDOM, sda_oracle, mantri_random),
            (RESTARTS, sda, restarts),
            (FAIR, sda, fair),
            (FIFO, sda, fifo),
            (SLOT_1, sda_slot, mantri_slot),
        ],
    })
}

pub(super) fn figure(light: &Light, runs: &Runs) -> Figure {
    let mut claims = flowtime_claims(light, runs);
    claims.extend(quantile_claims(light, runs));
    claims.extend(resource_claims(light, runs));
    claims.extend(sca_and_sda_claims(light, runs));
    Figure {
        name: "Figure 2".to_owned(),
        about: format!(
            "SCA and SDA against Mantri on 3000 machines. Jobs arrive for {} units of time by a Poisson process of \
             rate 6. They have 1 to 100 tasks, and Pareto durations with α = 2 and a mean of 1 to 4 for each job; γ = \
             0.01. The offered load is a quarter of the machines' capacity.{}",
            light.horizon,
            unchanged(light, runs)
        ),
        claims,
        tables: tables(light, runs),
    }
}

/// Returns a sentence for readers if Mantri's order of jobs and its restarts change no result; otherwise an empty text.
fn unchanged(light: &Light, runs: &Runs) -> &'static str {
    let of =
        |wanted: &str| light.mantri.iter().find(|(reading, _)| *reading == wanted).map(|(_, it)| runs.drained(*it));
    let base = of(BASE);
    if [RESTARTS, FAIR, FIFO].into_iter().all(|reading| of(reading) == base) {
        " No job waits for machines, so the order of Mantri's jobs and its restarts change nothing: the readings \
         Mantri restarts, Mantri fair and Mantri fifo have the same results as the base reading."
    } else {
        ""
    }
}

/// Measures by how many per cent `of` is larger in the first run of each case than in the second.
fn compared(
    cases: &[(&'static str, Handle, Handle)],
    runs: &Runs,
    value: &str,
    of: fn(&Digest) -> f64,
) -> Vec<Measured> {
    let one = |(reading, policy, base): &(&str, Handle, Handle)| {
        Measured::over_seeds(reading, value, &change(&runs.drained(*policy), &runs.drained(*base), of), "%")
    };
    cases.iter().map(one).collect()
}

/// Measures `of` in the runs of each reading.
fn alone(cases: &[Named], runs: &Runs, value: &str, unit: &str, of: fn(&Digest) -> f64) -> Vec<Measured> {
    cases
        .iter()
        .map(|(reading, policy)| Measured::over_seeds(reading, value, &each(&runs.drained(*policy), of), unit))
        .collect()
}

fn flowtime_claims(light: &Light, runs: &Runs) -> Vec<Claim> {
    let jobs = each(&runs.drained(light.none), |run| run.jobs * 3.0 * 1500.0 / light.horizon);
    vec![
        Claim::judge(
            "Nearly 27 000 jobs over three seeds",
            "IV-C",
            percent_near(27_000.0, 3.0),
            vec![Measured::over_seeds(BASE, "jobs in 1500 units of time, times three seeds", &jobs, "jobs")],
            "The expected number is 6 · 1500 · 3 = 27 000.",
        ),
        Claim::judge(
            "SCA reduces the mean flowtime by (nearly) 60% against Mantri",
            "Abstract, IV-C",
            Expected::near(-60.0, 5.0),
            compared(&light.sca_mantri, runs, "mean flowtime of SCA compared with Mantri", |run| run.flowtime),
            "SCA does not use progress. So the readings differ in when Mantri detects stragglers, in the slot and in r.",
        ),
        Claim::judge(
            "SDA reduces the mean flowtime by nearly 60% against Mantri",
            "Abstract",
            Expected::near(-60.0, 5.0),
            compared(&light.sda_mantri, runs, "mean flowtime of SDA compared with Mantri", |run| run.flowtime),
            "With α = 2, Mantri's condition P(t_rem > 2·t_new) > 0.25 is t_rem > 1.155·E[x]. So Mantri starts more \
             backups than SDA with its σ = 1.707. With the same knowledge, SDA is a little slower.",
        ),
        Claim::judge(
            "SDA's flowtime is better than Mantri's",
            "V-C",
            Expected::below(0.0),
            compared(&light.sda_mantri, runs, "mean flowtime of SDA compared with Mantri", |run| run.flowtime),
            "",
        ),
    ]
}

fn quantile_claims(light: &Light, runs: &Runs) -> Vec<Claim> {
    let p80: fn(&Digest) -> f64 = |run| run.flowtime_p80;
    let p90: fn(&Digest) -> f64 = |run| run.flowtime_p90;
    vec![
        Claim::judge(
            "Under SCA more than 80% of the jobs finish within 6 time units",
            "IV-C",
            Expected::at_most(6.0),
            alone(&light.sca, runs, "time within which 80% of the jobs finish under SCA", "time units", p80),
            "",
        ),
        Claim::judge(
            "Under SCA more than 90% of the jobs finish within 9 time units",
            "IV-C",
            Expected::at_most(9.0),
            alone(&light.sca, runs, "time within which 90% of the jobs finish under SCA", "time units", p90),
            "",
        ),
        Claim::judge(
            "Under Mantri about 80% of the jobs finish within 17 time units",
            "IV-C",
            percent_near(17.0, 15.0),
            alone(&light.mantri, runs, "time within which 80% of the jobs finish under Mantri", "time units", p80),
            format!("Without backups, 80% of the jobs finish within {}.", within(light, runs, p80)),
        ),
        Claim::judge(
            "Under Mantri about 90% of the jobs finish within 25 time units",
            "IV-C",
            percent_near(25.0, 15.0),
            alone(&light.mantri, runs, "time within which 90% of the jobs finish under Mantri", "time units", p90),
            format!("Without backups, 90% of the jobs finish within {}.", within(light, runs, p90)),
        ),
    ]
}

/// Formats a time without backups.
fn within(light: &Light, runs: &Runs, of: fn(&Digest) -> f64) -> String {
    Measured::over_seeds("", "", &each(&runs.drained(light.none), of), "time units").text()
}

fn resource_claims(light: &Light, runs: &Runs) -> Vec<Claim> {
    let p80: fn(&Digest) -> f64 = |run| run.resource_p80;
    let without = average(&runs.drained(light.none), p80);
    let gain = |(reading, sca, mantri): &(&str, Handle, Handle)| {
        let pairs = change(&runs.drained(*sca), &runs.drained(*mantri), Digest::net_utility);
        // Utility minus resource usage is negative under both policies, so a smaller size is a gain.
        let gains: Vec<f64> = pairs.into_iter().map(|change| -change).collect();
        Measured::over_seeds(reading, "gain in utility minus resource usage, SCA compared with Mantri", &gains, "%")
    };
    vec![
        Claim::judge(
            "80% of the jobs consume less than 1.5 under Mantri",
            "IV-C",
            percent_near(1.5, 15.0),
            alone(&light.mantri, runs, "resource usage that 80% of the jobs do not exceed under Mantri", USAGE, p80),
            format!(
                "Without backups, 80% of the jobs consume at most {without:.2} {USAGE}, which follows from γ, the \
                 numbers of tasks and the mean durations in the section. For the claimed 1.5, backups would have to \
                 save {:.0}% of this.",
                100.0 * (1.0 - 1.5 / without)
            ),
        ),
        Claim::judge(
            "80% of the jobs consume less than 2 under SCA",
            "IV-C",
            percent_near(2.0, 15.0),
            alone(&light.sca, runs, "resource usage that 80% of the jobs do not exceed under SCA", USAGE, p80),
            "With α = 2, two copies of every task use 4/3 of the resources of one copy, and eight copies use 4.27 \
             times as much as one.",
        ),
        Claim::judge(
            "SCA consumes more resource than Mantri",
            "IV-C",
            Expected::above(0.0),
            compared(&light.sca_mantri, runs, "mean resource usage of SCA compared with Mantri", |run| run.resource),
            "",
        ),
        Claim::judge(
            "SCA beats Mantri considerably in job utility minus total resource",
            "IV-C",
            Expected::at_least(20.0),
            light.sca_mantri.iter().map(gain).collect(),
            "The utility of a job is −flowtime. Considerably is taken as a gain of at least 20% of Mantri's value.",
        ),
        Claim::judge(
            "SDA consumes less resource than Mantri",
            "V-C",
            Expected::below(0.0),
            compared(&light.sda_mantri, runs, "mean resource usage of SDA compared with Mantri", |run| run.resource),
            "",
        ),
    ]
}

fn sca_and_sda_claims(light: &Light, runs: &Runs) -> Vec<Claim> {
    // Each reading with its runs of SCA and SDA. Readings that do not change SCA have its runs under the base reading.
    let sca = light.sca.iter().find(|(reading, _)| *reading == BASE);
    let two = light.sca.iter().find(|(reading, _)| *reading == TWO_COPIES);
    let mut cases = Vec::new();
    for (reading, sda) in &light.sda {
        let own = light.sca.iter().find(|(name, _)| name == reading).or(sca);
        cases.extend(own.map(|(_, sca)| (*reading, *sca, *sda)));
    }
    let sda = light.sda.iter().find(|(reading, _)| *reading == BASE);
    cases.extend(two.zip(sda).map(|((reading, sca), (_, sda))| (*reading, *sca, *sda)));
    vec![
        Claim::judge(
            "SCA performs better than SDA in flowtime for small jobs",
            "V-C",
            Expected::below(0.0),
            compared(&cases, runs, "mean flowtime of jobs of up to 25 tasks, SCA compared with SDA", |run| {
                run.small_flowtime
            }),
            "",
        ),
        Claim::judge(
            "The mean flowtimes of SCA and SDA are roughly the same",
            "V-C",
            Expected::near(0.0, 15.0),
            compared(&cases, runs, "mean flowtime of SCA compared with SDA", |run| run.flowtime),
            "Roughly is taken as within 15%.",
        ),
        Claim::judge(
            "SCA consumes more resource than SDA",
            "V-C",
            Expected::above(0.0),
            compared(&cases, runs, "mean resource usage of SCA compared with SDA", |run| run.resource),
            "",
        ),
    ]
}

fn tables(light: &Light, runs: &Runs) -> Vec<DataTable> {
    let mut rows = vec![("none".to_owned(), light.none)];
    for (policy, cases) in [("mantri", &light.mantri), ("sca", &light.sca), ("sda", &light.sda)] {
        rows.extend(cases.iter().map(|(reading, handle)| (format!("{policy}, {reading}"), *handle)));
    }
    let rows: Vec<(String, Vec<Digest>)> =
        rows.into_iter().map(|(name, handle)| (name, runs.drained(handle))).collect();
    vec![
        super::means_table("All jobs", &rows),
        shares_table("Panel a: share of jobs with a flowtime up to t", FLOWTIME, &FLOWTIME_GRID, &rows, |run| {
            &run.flowtime_shares
        }),
        shares_table("Panel b: share of jobs with a resource usage up to R", RESOURCE, &RESOURCE_GRID, &rows, |run| {
            &run.resource_shares
        }),
    ]
}
