//! Section III: the load up to which cloning shortens delays. The section has no figure, but the paper calls a load
//! light or heavy by this limit.

use hindmost_core::reproduction::{Cell, Claim, DataTable, Expected, Figure, Measured, Plot, PlotShape};
use hindmost_math::distribution::Distribution;
use hindmost_policies::theory::cutoff::{Cutoff, CutoffError, cutoff, task_delay, task_delay_two_copies};

use super::readings::ANALYSIS;
use hindmost_sim::driver::SimulationError;

/// Number of machines in the simulations.
const MACHINES: f64 = 3000.0;
/// Mean number of tasks of a job in the simulations.
const MEAN_TASKS: f64 = 50.5;
/// Mean duration of a task in the simulations, in units of time.
const MEAN_DURATION: f64 = 2.5;
/// The unit of an arrival rate divided by the limit between light and heavy load.
const OF_LIMIT: &str = "times the limit";
/// Tail indices for which the cut-off is computed.
const ALPHAS: [f64; 7] = [1.5, 2.0, 2.1, 2.5, 3.0, 4.0, 5.0];

pub(super) fn figure() -> Result<Figure, SimulationError> {
    let mut table = DataTable::new(
        "Arrival rates λ in jobs per unit of time, and the load ω^U: two copies of every task shorten the mean delay \
         below λ^U, and fit on the machines below the λ of Theorem 1. At the λ of a full cluster, one copy of every \
         task keeps all machines busy",
        ["α", "ω^U", "λ^U (Eq. 5)", "λ of Theorem 1", "λ of a full cluster"].map(str::to_owned).to_vec(),
        Vec::new(),
    );
    table.plot = Some(Plot {
        title: "Arrival rates up to which two copies of every task shorten delays or fit on the machines".to_owned(),
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
    // The simulations have α = 2, for which λ^U does not exist. The λ of Theorem 1 replaces it there. For comparison,
    // the values of α up to 2.5, for which λ^U exists, are measured too.
    let at = |rate: f64| -> Vec<Measured> {
        let simulated = borders.iter().filter(|(alpha, ..)| (2.0..=2.5).contains(alpha));
        simulated
            .map(|(alpha, border, necessary)| {
                let (value, lambda) = match border {
                    Some(lambda) => (format!("λ = {rate} divided by λ^U"), *lambda),
                    None => {
                        (format!("λ = {rate} divided by the λ of Theorem 1, because λ^U does not exist"), *necessary)
                    }
                };
                Measured::exact(&format!("{ANALYSIS}, α = {alpha}, λ = {rate}"), &value, Some(rate / lambda), OF_LIMIT)
            })
            .collect()
    };
    let light = borders.iter().filter(|(_, border, _)| border.is_none_or(|border| border > 6.0));
    let lightest = light.map(|(alpha, ..)| *alpha).fold(0.0, f64::max);
    let both: Vec<Measured> = at(30.0).into_iter().chain(at(40.0)).collect();
    let necessary = pareto(2.0).map(|duration| full / (2.0 * duration.expected_minimum(2.0) / duration.mean()))?;
    Ok(Figure {
        name: "Section III".to_owned(),
        about: "The limit between light and heavy load for the cluster of Fig. 2 and 6, which has 3000 machines, jobs \
                of 50.5 tasks on average and a mean duration of 2.5. Nothing is simulated: every number follows from \
                the formulas. With α = 2, the value in the paper's simulations, E[s²] is infinite. So the delay of Eq. \
                1 is infinite at every load, and λ^U does not exist. Then only the bound of Theorem 1 applies."
            .to_owned(),
        claims: vec![
            Claim::judge(
                "Two copies of every task don't overload the cluster only if λ·E[m]·E[s]·4(α − 1)/(2α − 1) < M",
                "Theorem 1",
                Expected::near(1.0, 1e-9),
                vec![Measured::exact(
                    ANALYSIS,
                    "λ at which 2·λ·E[m]·E[min of 2] = M, divided by the theorem's λ, α = 2",
                    Some(necessary / (full / (4.0 / 3.0))),
                    "times the theorem's λ",
                )],
                "E[min of 2] is the expected duration of the faster of two copies.",
            ),
            Claim::judge(
                "λ^U is where the delays with one and with two copies are equal",
                "Eq. 1 to 5",
                Expected::at_most(1e-9),
                vec![Measured::exact(
                    ANALYSIS,
                    "largest relative difference between both delays at ω^U, α from 2.1 to 5",
                    Some(worst),
                    "as a share of the delay",
                )],
                "For α ≤ 2, λ^U does not exist. The paper does not mention this.",
            ),
            Claim::judge(
                "λ = 6 is light load, λ < λ^U",
                "IV-C",
                Expected::at_most(1.0),
                at(6.0),
                format!("This holds for the tail indices of the table up to α = {lightest}."),
            ),
            Claim::judge("λ = 30 and λ = 40 are heavy load, λ ≥ λ^U", "VI-C", Expected::at_least(1.0), both, {
                format!(
                    "These rates are overloads: even without copies, the jobs need {:.2} and {:.2} times the machines' time.",
                    30.0 / full,
                    40.0 / full
                )
            }),
        ],
        tables: vec![table],
    })
}

/// Returns the Pareto distribution with this tail index and a mean of 1.
pub(super) fn pareto(alpha: f64) -> Result<Distribution, SimulationError> {
    Distribution::pareto_with_mean(alpha, 1.0).map_err(|error| SimulationError::Workload(error.to_string()))
}
