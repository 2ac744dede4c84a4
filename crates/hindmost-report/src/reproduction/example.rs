//! A reproduction for tests: two figures, claims of several parts, a search over five readings, and points of curves.

use hindmost_claims::{
    BesideMean, Calibrated, Cell, Claim, Coverage, CurvePoint, DataTable, Estimate, Expected, Factor, Figure,
    HeavyTails, Measured, Part, Plot, PlotShape, Reading, Reproduction, Search, Status,
};
use hindmost_core::cluster::Placement;

const READINGS: [&str; 5] = ["base", "oracle", "age", "late", "fair"];

fn part(value: &str, unit: &str, expected: Expected, means: &[f64]) -> Part {
    let half = if unit == "%" { 1.0 } else { 0.25 };
    let measured = |(reading, mean): (&str, &f64)| Measured {
        ci95: Some([mean - half, mean + half]),
        ..Measured::exact(reading, value, Some(*mean), unit)
    };
    Part::judge(expected, READINGS.into_iter().zip(means).map(measured).collect())
}

fn estimate(mean: f64) -> Estimate {
    Estimate { mean: Some(mean), ci95: Some([mean - 1.0, mean + 1.0]) }
}

fn claims() -> Vec<Claim> {
    let near = Expected::near(-60.0, 5.0);
    let flowtime = "mean flowtime of SCA compared with Mantri";
    let confirmed = |readings: &Part, mean: f64| Measured {
        holds: true,
        ..Measured { mean: Some(mean), ci95: Some([mean - 1.5, mean + 1.5]), ..readings.readings[1].clone() }
    };
    let main = part(flowtime, "%", near, &[-52.0, -61.0, -33.0, -52.5, -52.0]);
    let resource = part(
        "mean resource usage of SCA compared with Mantri",
        "%",
        Expected::at_most(110.0),
        &[101.0, 64.0, 130.0, 100.0, 101.0],
    );
    let again = vec![confirmed(&main, -59.0), confirmed(&resource, 66.0)];
    let comment = "The rule allows 5 percentage points | more is another claim.";
    vec![
        Claim {
            in_abstract: true,
            quote: "SCA reduces the mean flowtime by nearly 60%".to_owned(),
            confirmed: again,
            ..Claim::judge(
                "fig2-sca-flowtime",
                "SCA reduces the mean flowtime by nearly 60% against Mantri, at about twice its resource usage",
                "Abstract, IV-C",
                main,
                vec![resource],
                comment,
            )
        },
        Claim {
            in_abstract: true,
            ..Claim::judge(
                "fig2-sda-flowtime",
                "SDA reduces the mean flowtime by nearly 60% against Mantri",
                "Abstract",
                part("mean flowtime of SDA compared with Mantri", "%", near, &[-37.0, -42.0, 9.5, -37.0, -37.0]),
                Vec::new(),
                "",
            )
        },
        Claim {
            of_baseline: true,
            ..Claim::judge(
                "fig2-mantri-80",
                "Under Mantri about 80% of the jobs finish within 17 time units",
                "IV-C",
                part(
                    "time within which 80% finish",
                    "time units",
                    Expected::near(17.0, 2.0),
                    &[7.6, 8.0, 16.0, 13.3, 7.6],
                ),
                Vec::new(),
                "",
            )
        },
    ]
}

fn cumulative() -> DataTable {
    let columns = ["policy", "0", "5", "10", "20", "40"].map(str::to_owned).to_vec();
    let row = |name: &str, shares: [f64; 5]| {
        std::iter::once(Cell::from(name)).chain(shares.into_iter().map(Cell::from)).collect()
    };
    let plot = Plot {
        title: "Jobs by flowtime".to_owned(),
        x: "flowtime (time units)".to_owned(),
        y: "share of jobs".to_owned(),
        shape: PlotShape::CumulativeRows,
        curves: Vec::new(),
        rows: None,
        stated: vec![point("Mantri", 17.0, 8.25, 0.96, "base"), point("SCA", 6.0, 4.44, 0.92, "base")],
    };
    let rows = vec![row("SCA", [0.0, 0.9, 0.97, 0.99, 1.0]), row("Mantri", [0.0, 0.6, 0.9, 0.98, 1.0])];
    DataTable { plot: Some(plot), ..DataTable::new("Share of jobs by flowtime, reading base", columns, rows) }
}

fn point(curve: &str, at: f64, measured_at: f64, measured_share: f64, reading: &str) -> CurvePoint {
    CurvePoint {
        claim: "fig2-mantri-80".to_owned(),
        curve: curve.to_owned(),
        world: String::new(),
        quantity: "flowtime".to_owned(),
        at,
        share: 0.8,
        reading: reading.to_owned(),
        measured_share: Some(measured_share),
        measured_at: Some(measured_at),
    }
}

/// Returns the reproduction.
pub(crate) fn example() -> Reproduction {
    let reading = |at: usize, name: &str| Reading {
        name: name.to_owned(),
        description: format!("What {name} assumes about what the paper leaves out."),
        factor: (at > 0).then(|| "knowledge".to_owned()),
        same_as: (name == "fair").then(|| "base".to_owned()),
        holds: [0, 1, 1, 0, 0][at],
        of: 3,
        baseline_error: Some([4.7, 4.5, 0.5, 1.85, 4.7][at]),
    };
    let analysis = Part::judge(
        Expected::near(1.707, 0.001),
        vec![Measured::exact("analysis, α = 2", "σ with the lowest E[R]", Some(1.7071), "mean durations")],
    );
    let formula = Claim {
        status: Status::Formula,
        ..Claim::judge("sigma", "The optimal σ is 1.707", "V-C, Eq. 27", analysis, Vec::new(), "")
    };
    let mut reproduction = Reproduction {
        paper: "xu2015".to_owned(),
        title: "Xu & Lau, A title, 2015".to_owned(),
        command: "reproduce xu2015".to_owned(),
        minutes: Some(12.3),
        quick: false,
        seeds: vec![1, 2, 3],
        headline_seeds: (1..=20).collect(),
        fresh_seeds: vec![101, 102, 103],
        answer: vec![
            "The headline holds for SCA, but not for SDA.".to_owned(),
            "SCA needs remaining times from the start (oracle).".to_owned(),
            "SDA starts its backups too late otherwise.".to_owned(),
        ],
        coverage: Coverage { listed: 5, tested: 4, not_run: 1, by_formula: 1, recorded: 0, readings: 0, slips: 0 },
        heavy_tails: Some(HeavyTails {
            cautions: vec!["durations have a Pareto tail with α = 2".to_owned()],
            beside: vec![BesideMean {
                claim: "fig2-sca-flowtime".to_owned(),
                value: "mean flowtime of SCA compared with Mantri".to_owned(),
                unit: "%".to_owned(),
                mean: estimate(-52.0),
                median: estimate(-48.0),
                p95: estimate(-56.0),
            }],
        }),
        placement: [("light".to_owned(), Placement::First)].into(),
        notes: vec!["A note.".to_owned()],
        readings: READINGS.into_iter().enumerate().map(|(at, name)| reading(at, name)).collect(),
        search: Some(Search {
            searched: 5,
            distinct: 4,
            best: "oracle".to_owned(),
            equals: Vec::new(),
            holds: 1,
            of: 3,
            by_chance: 1.25,
            by_chance_p95: 2.0,
            calibrated: Some(Calibrated {
                reading: "age".to_owned(),
                error: 0.5,
                numbers: 1,
                holds: 0,
                of: 2,
                equals: Vec::new(),
                equal_holds: None,
            }),
        }),
        factors: vec![Factor {
            name: "knowledge".to_owned(),
            claim: "fig2-sca-flowtime".to_owned(),
            base: -52.0,
            low: -61.0,
            low_reading: "oracle".to_owned(),
            high: -33.0,
            high_reading: "age".to_owned(),
            unit: "%".to_owned(),
        }],
        figures: vec![
            Figure {
                id: "2".to_owned(),
                name: "Figure 2".to_owned(),
                about: "About it.".to_owned(),
                claims: claims(),
                points: vec![
                    point("Mantri", 17.0, 16.0, 0.82, "age"),
                    point("Mantri", 17.0, 8.25, 0.96, "base"),
                    point("SCA", 6.0, 4.44, 0.92, "base"),
                ],
                tables: vec![
                    cumulative(),
                    DataTable::new(
                        "Numbers < 3",
                        vec!["σ".to_owned(), "|c|".to_owned()],
                        vec![vec![Cell::from("no backup"), Cell::from(f64::NAN)]],
                    ),
                ],
            },
            Figure {
                id: "3".to_owned(),
                name: "Figure 3".to_owned(),
                about: "More.".to_owned(),
                claims: vec![
                    formula,
                    Claim::not_run("trace", "The makespan is 18% lower", "6.3", "the trace is not public"),
                ],
                points: Vec::new(),
                tables: Vec::new(),
            },
        ],
    };
    let claims = reproduction.figures.iter_mut().flat_map(|figure| &mut figure.claims);
    claims.zip(1..).for_each(|(claim, number)| claim.number = number);
    reproduction
}
