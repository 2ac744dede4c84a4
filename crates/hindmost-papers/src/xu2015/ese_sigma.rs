//! Fig. 4: `E[R]/E[x]` over σ of ESE (section VI-B).

use hindmost_core::reproduction::{Cell, Claim, DataTable, Expected, Figure, Measured, Plot, PlotShape};
use hindmost_policies::theory::sigma::{ese, ese_resource_ratio};

use super::readings::ANALYSIS;
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
        about: "Expected resource of a task under ESE's rule over that without backups, Eq. 30 to 33, for Pareto \
                durations. Every number is computed."
            .to_owned(),
        claims: vec![
            Claim::judge(
                "E[R] is lowest for σ close to 1.7 with α = 2",
                "VI-B, Fig. 4",
                Expected::near(1.7, 0.05),
                vec![Measured::exact(ANALYSIS, "σ* with α = 2", sigma_of(2.0), "")],
                "It is SDA's 1 + √2/2: a race pays where 2·E[min(r, x)] < r, however r was revealed.",
            ),
            Claim::judge(
                "σ* increases along with α",
                "VI-B, Fig. 4",
                Expected::above(0.0),
                vec![Measured::exact(
                    ANALYSIS,
                    "smallest step of σ* along α = 2, 3, 4, 5, 7, 10, 20",
                    Some(steps.fold(f64::INFINITY, f64::min)),
                    "",
                )],
                "",
            ),
            Claim::judge(
                "For all α ≥ 3, σ* is very close to 2",
                "VI-B, Fig. 4",
                Expected::at_most(0.1),
                vec![Measured::exact(ANALYSIS, "largest |σ* − 2| for α = 3, 4, 5, 7, 10, 20", Some(off), "")],
                "Very close is taken as 0.1.",
            ),
        ],
        tables: vec![
            DataTable {
                plot: Some(Plot {
                    title: "Expected resource of a task by σ".to_owned(),
                    x: "σ".to_owned(),
                    y: "E[R]/E[x]; 1 is without backups".to_owned(),
                    shape: PlotShape::Columns,
                    curves: Vec::new(),
                    rows: None,
                }),
                ..DataTable::new("E[R]/E[x] by σ", columns, rows)
            },
            DataTable::new("Optimal σ", ["α", "σ*", "E[R]/E[x] at σ*"].map(str::to_owned).to_vec(), optima.collect()),
        ],
    })
}
