//! Fig. 4: the expected resource usage of a task under ESE, for each σ (section VI-B).

use hindmost_core::reproduction::{Cell, Claim, DataTable, Expected, Figure, Measured, Plot, PlotShape};
use hindmost_policies::theory::sigma::{ese, ese_resource_ratio};

use super::readings::{ANALYSIS, SIGMA};
use super::regimes::pareto;
use hindmost_sim::driver::SimulationError;

/// The tail indices of the figure.
const ALPHAS: [f64; 4] = [2.0, 3.0, 4.0, 5.0];
/// More tail indices, for the claim about "all α ≥ 3".
const MORE_ALPHAS: [f64; 3] = [7.0, 10.0, 20.0];

pub(super) fn figure() -> Result<Figure, SimulationError> {
    let wrong = |error: hindmost_policies::theory::sigma::SigmaError| SimulationError::Workload(error.to_string());
    let mut best = Vec::new();
    for alpha in ALPHAS.into_iter().chain(MORE_ALPHAS) {
        best.push((alpha, ese(&pareto(alpha)?).map_err(wrong)?));
    }
    let sigma_of = |wanted: f64| best.iter().find(|(alpha, _)| *alpha == wanted).map(|(_, best)| best.sigma);
    let steps = best.windows(2).map(|pair| pair[1].1.sigma - pair[0].1.sigma);
    let heavy = best.iter().filter(|(alpha, _)| *alpha >= 3.0);
    let off = heavy.map(|(_, best)| (best.sigma - 2.0).abs()).fold(0.0, f64::max);

    let mut columns = vec!["σ".to_owned()];
    columns.extend(ALPHAS.iter().map(|alpha| format!("α = {alpha}")));
    let mut rows = Vec::new();
    for step in 1..=24 {
        let sigma = f64::from(step) * 0.25;
        let mut row = vec![Cell::from(sigma)];
        for alpha in ALPHAS {
            row.push(Cell::from(ese_resource_ratio(&pareto(alpha)?, sigma).map_err(wrong)?));
        }
        rows.push(row);
    }
    let optima = best.iter().map(|(alpha, best)| [*alpha, best.sigma, best.resource_ratio].map(Cell::from).to_vec());
    Ok(Figure {
        name: "Figure 4".to_owned(),
        about: "The expected resource usage of a task under ESE, divided by the one without backups (Eq. 30 to 33), \
                for Pareto durations. ESE starts a backup if the remaining time of an attempt is above σ mean \
                durations. Nothing is simulated: every number follows from the formulas."
            .to_owned(),
        claims: vec![
            Claim::judge(
                "E[R] is lowest for σ close to 1.7 with α = 2",
                "VI-B, Fig. 4",
                Expected::near(1.7, 0.05),
                vec![Measured::exact(ANALYSIS, "optimal σ with α = 2", sigma_of(2.0), SIGMA)],
                "This is the optimal σ of SDA, 1 + √2/2. Under both policies a backup saves resources if \
                 2·E[min(r, x)] < r, where r is the remaining time of the original and x the duration of the backup.",
            ),
            Claim::judge(
                "σ* increases along with α",
                "VI-B, Fig. 4",
                Expected::above(0.0),
                vec![Measured::exact(
                    ANALYSIS,
                    "smallest difference of σ* from one α to the next, α = 2, 3, 4, 5, 7, 10, 20",
                    Some(steps.fold(f64::INFINITY, f64::min)),
                    SIGMA,
                )],
                "σ* is the optimal σ.",
            ),
            Claim::judge(
                "For all α ≥ 3, σ* is very close to 2",
                "VI-B, Fig. 4",
                Expected::at_most(0.1),
                vec![Measured::exact(ANALYSIS, "largest |σ* − 2| for α = 3, 4, 5, 7, 10, 20", Some(off), SIGMA)],
                "Very close is taken as at most 0.1 mean durations.",
            ),
        ],
        tables: vec![
            DataTable {
                plot: Some(Plot {
                    title: "Expected resource usage of a task by σ".to_owned(),
                    x: "σ (mean durations)".to_owned(),
                    y: "E[R]/E[x]; 1 without backups".to_owned(),
                    shape: PlotShape::Columns,
                    curves: Vec::new(),
                    rows: None,
                }),
                ..DataTable::new(
                    "Expected resource usage of a task divided by the mean duration, E[R]/E[x], by σ",
                    columns,
                    rows,
                )
            },
            DataTable::new(
                "Optimal σ for each tail index α",
                ["α", "σ*", "E[R]/E[x] at σ*"].map(str::to_owned).to_vec(),
                optima.collect(),
            ),
        ],
    })
}
