//! Section III: the load up to which cloning helps. It has no figure, but it determines which of the other figures have
//! light and which have heavy load.

use hindmost_core::reproduction::{Cell, Claim, DataTable, Expected, Figure, Measured, Plot, PlotShape};
use hindmost_math::distribution::Distribution;
use hindmost_policies::theory::cutoff::{Cutoff, CutoffError, cutoff, task_delay, task_delay_two_copies};

use super::readings::ANALYSIS;
use hindmost_sim::driver::SimulationError;

/// The cluster and jobs of the simulations: machines, mean tasks of a job, mean duration of a task in units of time.
const MACHINES: f64 = 3000.0;
const MEAN_TASKS: f64 = 50.5;
const MEAN_DURATION: f64 = 2.5;
/// Tail indices for which the cut-off is computed.
const ALPHAS: [f64; 7] = [1.5, 2.0, 2.1, 2.5, 3.0, 4.0, 5.0];

pub(super) fn figure() -> Result<Figure, SimulationError> {
    let mut table = DataTable::new(
        "Arrival rates up to which two copies of every task help or fit",
        ["α", "ω^U", "λ^U (Eq. 5)", "λ of Theorem 1", "λ of a full cluster"].map(str::to_owned).to_vec(),
        Vec::new(),
    );
    table.plot = Some(Plot {
        title: "Arrival rates up to which two copies of every task help or fit".to_owned(),
        x: "tail index α of the durations".to_owned(),
        y: "arrival rate λ (jobs per unit of time)".to_owned(),
        shape: PlotShape::Columns,
        curves: ["λ^U (Eq. 5)", "λ of Theorem 1", "λ of a full cluster"].map(str::to_owned).to_vec(),
        rows: None,
    });
    let full = MACHINES / (MEAN_TASKS * MEAN_DURATION);
    let mut borders = Vec::new();
    let mut worst: f64 = 0.0;
    for alpha in ALPHAS {
        let duration = pareto(alpha)?;
        let (omega, border, necessary) = match cutoff(&duration, MACHINES, MEAN_TASKS, MEAN_DURATION) {
            Ok(Cutoff { omega, lambda, necessary_lambda, .. }) => (omega, lambda, necessary_lambda),
            Err(CutoffError::InfiniteSecondMoment { necessary_lambda }) => (None, None, necessary_lambda),
            Err(error) => return Err(SimulationError::Workload(error.to_string())),
        };
        borders.push((alpha, border, necessary));
        if let Some(omega) = omega {
            worst = worst.max((task_delay_two_copies(&duration, omega) / task_delay(&duration, omega) - 1.0).abs());
        }
        let mut row = vec![Cell::from(alpha), Cell::from(omega)];
        row.extend([border, Some(necessary), Some(full)].map(Cell::from));
        table.rows.push(row);
    }
    // The simulations have α = 2, for which λ^U does not exist; Theorem 1's bound replaces it. Nearby tails have λ^U.
    let at = |rate: f64| -> Vec<Measured> {
        let simulated = borders.iter().filter(|(alpha, ..)| (2.0..=2.5).contains(alpha));
        simulated
            .map(|(alpha, border, necessary)| {
                let (value, lambda) = match border {
                    Some(lambda) => (format!("{rate} over λ^U"), *lambda),
                    None => (format!("{rate} over Theorem 1's λ, as λ^U does not exist"), *necessary),
                };
                Measured::exact(&format!("{ANALYSIS}, α = {alpha}, λ = {rate}"), &value, Some(rate / lambda), "")
            })
            .collect()
    };
    let light = borders.iter().filter(|(_, border, _)| border.is_none_or(|border| border > 6.0));
    let lightest = light.map(|(alpha, ..)| *alpha).fold(0.0, f64::max);
    let both: Vec<Measured> = at(30.0).into_iter().chain(at(40.0)).collect();
    let necessary = pareto(2.0).map(|duration| full / (2.0 * duration.expected_minimum(2.0) / duration.mean()))?;
    Ok(Figure {
        name: "Section III".to_owned(),
        about: "The cut-off between light and heavy load, for the cluster of Fig. 2 and 6: 3000 machines, 50.5 tasks a \
                job, a mean duration of 2.5. Every number is computed. With α = 2, the paper's value, E[s²] is infinite, \
                so Eq. 1's delay is too, at every load, and no λ^U exists: only Theorem 1's bound remains."
            .to_owned(),
        claims: vec![
            Claim::judge(
                "Two copies of every task don't overload the cluster only if λ·E[m]·E[s]·4(α − 1)/(2α − 1) < M",
                "Theorem 1",
                Expected::near(1.0, 1e-9),
                vec![Measured::exact(
                    ANALYSIS,
                    "λ at which 2·λ·E[m]·E[min of 2] = M, over the theorem's, α = 2",
                    Some(necessary / (full / (4.0 / 3.0))),
                    "",
                )],
                "",
            ),
            Claim::judge(
                "λ^U is where the delays with one and with two copies are equal",
                "Eq. 1 to 5",
                Expected::at_most(1e-9),
                vec![Measured::exact(
                    ANALYSIS,
                    "largest relative difference of both delays at ω^U, α from 2.1 to 5",
                    Some(worst),
                    "",
                )],
                "For α ≤ 2 there is no such λ^U, which the paper does not say.",
            ),
            Claim::judge(
                "λ = 6 is light load, λ < λ^U",
                "IV-C",
                Expected::at_most(1.0),
                at(6.0),
                format!("This holds for the tails of the table up to α = {lightest}."),
            ),
            Claim::judge("λ = 30 and λ = 40 are heavy load, λ ≥ λ^U", "VI-C", Expected::at_least(1.0), both, {
                format!(
                    "They are more than heavy: {:.2} and {:.2} times what the cluster can do without any copies.",
                    30.0 / full,
                    40.0 / full
                )
            }),
        ],
        tables: vec![table],
    })
}

pub(super) fn pareto(alpha: f64) -> Result<Distribution, SimulationError> {
    Distribution::pareto_with_mean(alpha, 1.0).map_err(|error| SimulationError::Workload(error.to_string()))
}
