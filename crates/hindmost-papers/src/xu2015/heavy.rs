//! Fig. 6: ESE, SCA and SDA against Mantri at heavy load (section VI-C2).

use hindmost_core::estimator::Knowledge;
use hindmost_core::reproduction::{Claim, DataTable, Expected, Figure, Measured};

use super::readings::{
    AGE, BASE, CLONES_SMALL, EARLY, FAIR, FIFO, MANTRI_LATE, MANTRI_RANDOM, ORACLE, ORACLE_AGAINST_RANDOM, RANDOM,
    RESTARTS, SLOT_1, cut,
};
use super::{FLOWTIME, RESOURCE, Scale, percent_near, shares_table};
use crate::digest::{Digest, FLOWTIME_GRID, RESOURCE_GRID, change, each};
use crate::plan::{Count, Handle, Plan, Runs, World};
use hindmost_sim::driver::SimulationError;

/// The runs of ESE and Mantri under a reading.
struct Pair {
    reading: &'static str,
    ese: Handle,
    mantri: Handle,
}

/// The runs at one arrival rate.
struct Load {
    /// ESE and Mantri under each reading.
    pairs: Vec<Pair>,
    // The runs of each policy under the base reading.
    none: Handle,
    sca: Handle,
    sda: Handle,
    ese: Handle,
    mantri: Handle,
}

/// The runs that the figure needs.
pub(super) struct Heavy {
    /// Time for which jobs arrive, in units of time.
    horizon: f64,
    /// Runs with 30 arrivals per unit of time.
    at_30: Load,
    /// Runs with 40 arrivals per unit of time.
    at_40: Load,
}

fn world(scale: &Scale, rate: f64, slot: f64, knowledge: Knowledge) -> World {
    World {
        scenario: "xu2015-heavy",
        put: Vec::new(),
        set: vec![
            ("horizon", scale.horizon),
            ("cluster.machines", 3000.0),
            ("workload.arrival.poisson.rate", rate),
            ("workload.duration.pareto.alpha", 2.0),
        ],
        slot,
        knowledge,
        seeds: scale.seeds,
    }
}

/// ESE with the paper's parameters.
const ESE: &str = "ese(sigma=1.7,eta=0.1,xi=1)";

/// Requests the runs at an arrival rate, under all readings or only under the most important ones.
fn load(plan: &mut Plan, scale: &Scale, rate: f64, every_reading: bool) -> Result<Load, SimulationError> {
    let base = world(scale, rate, 0.1, Knowledge::Progress(0.2));
    let oracle = world(scale, rate, 0.1, Knowledge::Oracle);
    let random = world(scale, rate, 0.1, Knowledge::ProgressUniform);
    let none = plan.add(&base, "none")?;
    let (ese, mantri) = (plan.add(&base, ESE)?, plan.add(&base, "mantri")?);
    let (ese_oracle, mantri_oracle) = (plan.add(&oracle, ESE)?, plan.add(&oracle, "mantri")?);
    let (ese_random, mantri_random) = (plan.add(&random, ESE)?, plan.add(&random, "mantri")?);
    let age = world(scale, rate, 0.1, Knowledge::Age);
    let (ese_age, mantri_age) = (plan.add(&age, ESE)?, plan.add(&age, "mantri")?);
    let mut pairs = vec![
        Pair { reading: BASE, ese, mantri },
        Pair { reading: ORACLE, ese: ese_oracle, mantri: mantri_oracle },
        Pair { reading: RANDOM, ese: ese_random, mantri: mantri_random },
        Pair { reading: AGE, ese: ese_age, mantri: mantri_age },
        Pair { reading: MANTRI_RANDOM, ese, mantri: mantri_random },
        Pair { reading: ORACLE_AGAINST_RANDOM, ese: ese_oracle, mantri: mantri_random },
    ];
    if every_reading {
        let early = world(scale, rate, 0.1, Knowledge::Progress(0.1));
        let late = world(scale, rate, 0.1, Knowledge::Progress(0.5));
        let slot_1 = world(scale, rate, 1.0, Knowledge::Progress(0.2));
        pairs.extend([
            Pair { reading: EARLY, ese: plan.add(&early, ESE)?, mantri: plan.add(&early, "mantri")? },
            Pair { reading: MANTRI_LATE, ese, mantri: plan.add(&late, "mantri")? },
            Pair { reading: RESTARTS, ese, mantri: plan.add(&base, "mantri(kill_restart=true)")? },
            Pair { reading: FAIR, ese, mantri: plan.add(&base, "fair+mantri")? },
            Pair { reading: FIFO, ese, mantri: plan.add(&base, "fifo+mantri")? },
            Pair { reading: SLOT_1, ese: plan.add(&slot_1, ESE)?, mantri: plan.add(&slot_1, "mantri")? },
            Pair { reading: CLONES_SMALL, ese: plan.add(&base, "ese(sigma=1.7,eta=0.1,xi=4.01)")?, mantri },
        ]);
    }
    Ok(Load { pairs, none, sca: plan.add(&base, "sca")?, sda: plan.add(&base, "sda")?, ese, mantri })
}

pub(super) fn plan(plan: &mut Plan, scale: &Scale) -> Result<Heavy, SimulationError> {
    Ok(Heavy { horizon: scale.horizon, at_30: load(plan, scale, 30.0, false)?, at_40: load(plan, scale, 40.0, true)? })
}

pub(super) fn figure(heavy: &Heavy, runs: &Runs) -> Figure {
    let mut claims = ese_claims(heavy, runs);
    claims.extend(poor_claims(heavy, runs));
    Figure {
        name: "Figure 6".to_owned(),
        about: format!(
            "ESE (σ = 1.7, η = 0.1, ξ = 1) against Mantri on the cluster and jobs of Fig. 2, with Poisson arrivals at \
             rate 40 and at rate 30 for {} units of time. Both rates are overloads: even without copies, the jobs need \
             1.68 and 1.26 times the machines' time. The queue grows while jobs arrive, so every number depends on how \
             long they arrive and on whether the jobs count that finish later.",
            heavy.horizon
        ),
        claims,
        tables: tables(heavy, runs),
    }
}

/// Returns each way of counting jobs with the name that it gives to a reading.
fn counts(reading: &str) -> [(Count, String); 2] {
    [(Count::Drained, reading.to_owned()), (Count::Cut, cut(reading))]
}

/// Measures by how many per cent `of` is larger under ESE than under Mantri, for every reading.
fn compared(load: &Load, runs: &Runs, value: &str, of: fn(&Digest) -> f64) -> Vec<Measured> {
    let one = |pair: &Pair| {
        counts(pair.reading).map(|(count, reading)| {
            let values = change(&runs.get(pair.ese, count), &runs.get(pair.mantri, count), of);
            Measured::over_seeds(&reading, value, &values, "%")
        })
    };
    load.pairs.iter().flat_map(one).collect()
}

/// A policy's runs under a reading.
struct Named(&'static str, Handle);

/// Returns the runs of a policy, which `of` selects. Runs that several readings share are returned once, with the name
/// of the first of these readings.
fn distinct(load: &Load, of: fn(&Pair) -> Handle) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    for pair in &load.pairs {
        if found.iter().all(|named| named.1 != of(pair)) {
            found.push(Named(pair.reading, of(pair)));
        }
    }
    found
}

fn ese_claims(heavy: &Heavy, runs: &Runs) -> Vec<Claim> {
    let (at_30, at_40) = (&heavy.at_30, &heavy.at_40);
    let p80 = |cases: &'_ [Named], policy: &str| -> Vec<Measured> {
        let value = format!("time within which 80% of the jobs finish under {policy}, λ = 40");
        cases
            .iter()
            .flat_map(|Named(reading, handle)| {
                counts(reading).map(|(count, reading)| {
                    let values = each(&runs.get(*handle, count), |run| run.flowtime_p80);
                    Measured::over_seeds(&reading, &value, &values, "time units")
                })
            })
            .collect()
    };
    let faster = Claim::judge(
        "ESE's mean flowtime is 18% below Mantri's, λ = 40",
        "Abstract, VI-C2",
        Expected::near(-18.0, 4.0),
        compared(at_40, runs, "mean flowtime of ESE compared with Mantri, λ = 40", |run| run.flowtime),
        "With the paper's ξ = 1 and mean durations of at least 1, ESE never clones a small job. It then differs from \
         Mantri only in its σ: 1.7 mean durations, where Mantri's condition corresponds to 1.155.",
    );
    let resources =
        compared(at_40, runs, "mean resource usage of ESE compared with Mantri, λ = 40", |run| run.resource);
    let together: Vec<String> = faster
        .readings
        .iter()
        .zip(&resources)
        .filter(|(faster, _)| faster.holds)
        .map(|(_, resource)| format!("{} under {}", resource.text(), resource.reading))
        .collect();
    let together = if together.is_empty() {
        "Under no reading is the mean flowtime about 18% lower.".to_owned()
    } else {
        format!(
            "Under the readings in which the mean flowtime is about 18% lower, the resource usage changes by {}.",
            together.join(", ")
        )
    };
    vec![
        faster,
        Claim::judge(
            "80% of the jobs finish within 10 time units under ESE, λ = 40",
            "VI-C2",
            percent_near(10.0, 15.0),
            p80(&distinct(at_40, |pair| pair.ese), "ESE"),
            "",
        ),
        Claim::judge(
            "80% of the jobs finish only within 18 time units under Mantri, λ = 40",
            "VI-C2",
            percent_near(18.0, 15.0),
            p80(&distinct(at_40, |pair| pair.mantri), "Mantri"),
            "",
        ),
        Claim::judge(
            "ESE and Mantri consume roughly the same resource, λ = 40",
            "Abstract, VI-C2",
            Expected::near(0.0, 5.0),
            resources,
            format!("Roughly is taken as within 5%. {together}"),
        ),
        Claim::judge(
            "ESE consumes less resource than Mantri, λ = 30",
            "VI-C2",
            Expected::below(0.0),
            compared(at_30, runs, "mean resource usage of ESE compared with Mantri, λ = 30", |run| run.resource),
            "",
        ),
        Claim::judge(
            "ESE consumes a lot less resource than Mantri, λ = 30",
            "VI-C2",
            Expected::at_most(-10.0),
            compared(at_30, runs, "mean resource usage of ESE compared with Mantri, λ = 30", |run| run.resource),
            "A lot is taken as at least 10%.",
        ),
    ]
}

/// Returns the claims that SCA and SDA perform poorly.
fn poor_claims(heavy: &Heavy, runs: &Runs) -> Vec<Claim> {
    let against_mantri = |policy: &str, of: fn(&Load) -> Handle| -> Vec<Measured> {
        let mut measured = Vec::new();
        for (load, rate) in [(&heavy.at_40, 40), (&heavy.at_30, 30)] {
            for (count, reading) in counts(BASE) {
                let values = change(&runs.get(of(load), count), &runs.get(load.mantri, count), |run| run.flowtime);
                let value = format!("mean flowtime of {policy} compared with Mantri, λ = {rate}");
                measured.push(Measured::over_seeds(&format!("{reading}, λ = {rate}"), &value, &values, "%"));
            }
        }
        measured
    };
    let copies = each(&runs.drained(heavy.at_40.sca), |run| 100.0 * run.copies);
    let sca = Measured::over_seeds("", "", &copies, "clones");
    let (sda, ese) = (runs.drained(heavy.at_40.sda), runs.drained(heavy.at_40.ese));
    let apart = change(&sda, &ese, |run| run.flowtime);
    let apart = Measured::over_seeds("", "", &apart, "%");
    vec![
        Claim::judge(
            "SCA performs poorly under heavy load",
            "VI-C2",
            Expected::above(0.0),
            against_mantri("SCA", |load| load.sca),
            format!(
                "Poor is taken as slower than Mantri. The paper's reason is that clones block new jobs. This is not \
                 observed: at λ = 40, SCA starts {} for 100 tasks. It is slow because it starts no copies of \
                 stragglers.",
                sca.text()
            ),
        ),
        Claim::judge(
            "SDA performs poorly under heavy load",
            "VI-C2",
            Expected::above(5.0),
            against_mantri("SDA", |load| load.sda),
            format!(
                "Poor is taken as more than 5% slower than Mantri. SDA differs from ESE only in the order of its \
                 backups and in σ, by 0.007 mean durations. Compared with ESE, its mean flowtime at λ = 40 changes by \
                 {}.",
                apart.text()
            ),
        ),
    ]
}

fn tables(heavy: &Heavy, runs: &Runs) -> Vec<DataTable> {
    let mut tables = Vec::new();
    for (load, rate) in [(&heavy.at_40, 40), (&heavy.at_30, 30)] {
        let mut policies = vec![
            (format!("none, {BASE}"), load.none),
            (format!("sca, {BASE}"), load.sca),
            (format!("sda, {BASE}"), load.sda),
        ];
        for (policy, of) in [("ese", (|pair| pair.ese) as fn(&Pair) -> Handle), ("mantri", |pair| pair.mantri)] {
            policies.extend(
                distinct(load, of).into_iter().map(|Named(reading, handle)| (format!("{policy}, {reading}"), handle)),
            );
        }
        for (count, which) in
            [(Count::Drained, "all jobs"), (Count::Cut, "jobs that had finished when arrivals stopped")]
        {
            let rows: Vec<(String, Vec<Digest>)> =
                policies.iter().map(|(name, handle)| (name.clone(), runs.get(*handle, count))).collect();
            tables.push(super::means_table(&format!("λ = {rate}, {which}"), &rows));
            if rate == 40 {
                let caption = format!("Panel a, λ = {rate}, {which}: share with a flowtime up to t");
                tables.push(shares_table(&caption, FLOWTIME, &FLOWTIME_GRID, &rows, |run| &run.flowtime_shares));
                let caption = format!("Panel b, λ = {rate}, {which}: share with a resource usage up to R");
                tables.push(shares_table(&caption, RESOURCE, &RESOURCE_GRID, &rows, |run| &run.resource_shares));
            }
        }
    }
    tables
}
