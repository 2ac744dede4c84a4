//! The rule of Mantri (section II), and the optimal σ of SDA (V-A) and ESE (VI-B).

use hindmost_claims::{Cell, DataTable, Measured, Plot, PlotShape};
use hindmost_math::distribution::Distribution;
use hindmost_policies::theory::sigma::{ese, ese_resource_ratio, sda, sda_resource_ratio};

use super::{by_alpha, largest, one, pareto, smallest, text};

/// The unit of σ.
const SIGMA: &str = "mean durations";

/// The tail indices of Figure 4, and more of them for the claim about all α ≥ 3.
const ESE_ALPHAS: [f64; 7] = [2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0];

fn ese_sigma(alpha: f64) -> Result<f64, String> {
    Ok(ese(&pareto(alpha)?).map_err(text)?.sigma)
}

pub(super) fn ese_of_2() -> Result<Vec<Measured>, String> {
    one("optimal σ with α = 2", ese_sigma(2.0)?, SIGMA)
}

pub(super) fn ese_increases() -> Result<Vec<Measured>, String> {
    let sigmas: Vec<f64> = ESE_ALPHAS.into_iter().map(ese_sigma).collect::<Result<_, _>>()?;
    let least = sigmas.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    one("smallest difference of σ* from one α to the next, α = 2, 3, 4, 5, 7, 10, 20", least, SIGMA)
}

pub(super) fn ese_near_2() -> Result<Vec<Measured>, String> {
    let sigmas: Vec<f64> = ESE_ALPHAS[1..].iter().map(|alpha| ese_sigma(*alpha)).collect::<Result<_, _>>()?;
    let off = sigmas.into_iter().map(|sigma| (sigma - 2.0).abs()).fold(0.0, f64::max);
    one("largest |σ* − 2| for α = 3, 4, 5, 7, 10, 20", off, SIGMA)
}

pub(super) fn ese_ratio_table() -> Result<DataTable, String> {
    let alphas = &ESE_ALPHAS[..4];
    let mut columns = vec!["σ".to_owned()];
    columns.extend(alphas.iter().map(|alpha| format!("α = {alpha}")));
    let mut rows = Vec::new();
    for step in 1..=24 {
        let sigma = f64::from(step) * 0.25;
        let mut row = vec![Cell::from(sigma)];
        for alpha in alphas {
            row.push(Cell::from(ese_resource_ratio(&pareto(*alpha)?, sigma).map_err(text)?));
        }
        rows.push(row);
    }
    Ok(DataTable {
        plot: Some(Plot {
            title: "Expected resource usage of a task by σ".to_owned(),
            x: "σ (mean durations)".to_owned(),
            y: "E[R]/E[x]; 1 without backups".to_owned(),
            shape: PlotShape::Columns,
            curves: Vec::new(),
            rows: None,
            stated: Vec::new(),
        }),
        ..DataTable::new(
            "Expected resource usage of a task divided by the mean duration, E[R]/E[x], by σ",
            columns,
            rows,
        )
    })
}

pub(super) fn ese_optima_table() -> Result<DataTable, String> {
    let mut rows = Vec::new();
    for alpha in ESE_ALPHAS {
        let best = ese(&pareto(alpha)?).map_err(text)?;
        rows.push([alpha, best.sigma, best.resource_ratio].map(Cell::from).to_vec());
    }
    let columns = ["α", "σ*", "E[R]/E[x] at σ*"].map(str::to_owned).to_vec();
    Ok(DataTable::new("Optimal σ for each tail index α", columns, rows))
}

/// Returns how often the slope of E[R] changes its sign on the σ of Figure 4.
pub(super) fn ese_interior() -> Result<Vec<Measured>, String> {
    let value = "how often the slope of E[R] changes its sign for σ from 0.05 to 6";
    by_alpha(&ESE_ALPHAS[..4], value, "", |alpha| {
        let duration = pareto(alpha)?;
        let ratio = |step: u32| ese_resource_ratio(&duration, 0.05 * f64::from(step)).map_err(text);
        let ratios: Vec<f64> = (1..=120).map(ratio).collect::<Result<_, _>>()?;
        let falls: Vec<bool> = ratios.windows(2).map(|pair| pair[1] < pair[0]).collect();
        Ok(Some(falls.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64))
    })
}

/// The tail indices for which the statements on SDA are tested.
const SDA_ALPHAS: [f64; 8] = [1.2, 1.4, 1.5, 1.6, 2.0, 3.0, 4.0, 5.0];

pub(super) fn sda_copies() -> Result<Vec<Measured>, String> {
    by_alpha(&SDA_ALPHAS, "number of copies with the lowest cost, each with its optimal σ", "copies", |alpha| {
        Ok(Some(f64::from(sda(&pareto(alpha)?, 0.2, 64).map_err(text)?.copies)))
    })
}

/// Returns the σ with the lowest value of Eq. 26 for two copies, on a grid with a step of 0.001.
fn lowest(alpha: f64, mean: f64, s: f64) -> Result<f64, String> {
    let duration = Distribution::pareto_with_mean(alpha, mean).map_err(text)?;
    let mut best = (f64::NAN, f64::INFINITY);
    for step in 500..2500 {
        let sigma = f64::from(step) / 1000.0;
        let cost = sda_resource_ratio(&duration, s, sigma, 2).map_err(text)?;
        if cost < best.1 {
            best = (sigma, cost);
        }
    }
    Ok(best.0)
}

fn spread(values: &[f64]) -> f64 {
    largest(values.iter().copied()) - smallest(values.iter().copied())
}

pub(super) fn sda_sigma() -> Result<Vec<Measured>, String> {
    one("σ with the lowest E[R], α = 2", lowest(2.0, 1.0, 0.2)?, SIGMA)
}

pub(super) fn sda_sigma_of_mean() -> Result<Vec<Measured>, String> {
    by_alpha(&SDA_ALPHAS, "largest minus smallest optimal σ for E[x] = 1, 2, 4", SIGMA, |alpha| {
        let of: Vec<f64> =
            [1.0, 2.0, 4.0].into_iter().map(|mean| lowest(alpha, mean, 0.2)).collect::<Result<_, _>>()?;
        Ok(Some(spread(&of)))
    })
}

pub(super) fn sda_sigma_of_s() -> Result<Vec<Measured>, String> {
    by_alpha(&SDA_ALPHAS, "largest minus smallest optimal σ for s = 0, 0.1, 0.2, 0.5", SIGMA, |alpha| {
        let of: Vec<f64> = [0.0, 0.1, 0.2, 0.5].into_iter().map(|s| lowest(alpha, 1.0, s)).collect::<Result<_, _>>()?;
        Ok(Some(spread(&of)))
    })
}

pub(super) fn sda_sigma_of_alpha() -> Result<Vec<Measured>, String> {
    by_alpha(&SDA_ALPHAS, "optimal σ at 1.1·α minus that at α", SIGMA, |alpha| {
        Ok(Some(lowest(1.1 * alpha, 1.0, 0.2)? - lowest(alpha, 1.0, 0.2)?))
    })
}

/// Returns τ(c, σ)/E[x], the expected machine time of a straggler after its detection, if it has c copies then. The
/// remaining time r of a straggler is Pareto with the minimum σ·E[x], which is above μ.
fn tau(alpha: f64, sigma: f64, copies: u32) -> f64 {
    let (minimum, from) = ((alpha - 1.0) / alpha, sigma);
    if copies == 1 {
        return alpha * from / (alpha - 1.0);
    }
    let copies = f64::from(copies);
    let fresh = alpha * (copies - 1.0);
    // E[min(r, Y)] over [0, μ], [μ, σ·E[x]] and beyond; Y is the shortest of c − 1 new copies.
    let certain = minimum + minimum * (1.0 - (minimum / from).powf(fresh - 1.0)) / (fresh - 1.0);
    copies * (certain + (minimum / from).powf(fresh) * from / (alpha + fresh - 1.0))
}

/// The values of σ at which τ is tested: 1.05 to 20.
fn sigmas() -> impl Iterator<Item = f64> + Clone {
    (0..=1895).map(|step| 1.05 + 0.01 * f64::from(step))
}

pub(super) fn tau_increases() -> Result<Vec<Measured>, String> {
    let value = "smallest growth of τ from c to c + 1 copies, c = 2 to 7, σ = 1.05 to 20";
    by_alpha(&TAU_ALPHAS, value, SIGMA, |alpha| {
        let growth =
            |sigma: f64| smallest((2..8).map(|copies| tau(alpha, sigma, copies + 1) - tau(alpha, sigma, copies)));
        Ok(Some(smallest(sigmas().map(growth))))
    })
}

pub(super) fn tau_two_below_one() -> Result<Vec<Measured>, String> {
    let value = "largest τ(1, σ) − τ(2, σ), σ = 1.05 to 20";
    by_alpha(&TAU_ALPHAS, value, SIGMA, |alpha| {
        Ok(Some(largest(sigmas().map(|sigma| tau(alpha, sigma, 1) - tau(alpha, sigma, 2)))))
    })
}

const TAU_ALPHAS: [f64; 7] = [1.2, 1.5, 1.8, 2.0, 2.5, 3.0, 5.0];

#[allow(clippy::unnecessary_wraps, reason = "tables that can fail have this type")]
pub(super) fn tau_table() -> Result<DataTable, String> {
    let columns = ["α", "σ", "τ(1)", "τ(2)", "τ(3)", "τ(4)", "grows from 2 to 3"].map(str::to_owned).to_vec();
    let mut rows = Vec::new();
    for alpha in [1.5, 1.8, 2.0, 3.0] {
        for sigma in [1.1, 1.707, 3.0, 10.0] {
            let mut row = vec![Cell::from(alpha), Cell::from(sigma)];
            row.extend((1..=4).map(|copies| Cell::from(tau(alpha, sigma, copies))));
            row.push(Cell::from(if tau(alpha, sigma, 3) > tau(alpha, sigma, 2) { "yes" } else { "no" }));
            rows.push(row);
        }
    }
    let caption = "Expected machine time of a straggler after its detection, τ(c, σ)/E[x], with c copies from then on";
    Ok(DataTable::new(caption, columns, rows))
}

/// Compares Eq. 22 to 26 with the closed form of [`tau`]: E[R]/E[x] for two copies.
pub(super) fn equation_26() -> Result<Vec<Measured>, String> {
    const S: f64 = 0.2;
    let value = "largest relative difference between both forms of E[R], s = 0.2, σ = 1.05 to 6";
    by_alpha(&[1.5, 2.0, 3.0, 5.0], value, "", |alpha| {
        let duration = pareto(alpha)?;
        let mut worst: f64 = 0.0;
        for sigma in sigmas().take_while(|sigma| *sigma <= 6.0) {
            let share = ((1.0 - S) * (alpha - 1.0) / alpha / sigma).powf(alpha);
            let own = 1.0 + share * (tau(alpha, sigma, 2) - tau(alpha, sigma, 1));
            worst = worst.max((sda_resource_ratio(&duration, S, sigma, 2).map_err(text)? / own - 1.0).abs());
        }
        Ok(Some(worst))
    })
}

pub(super) fn sda_optima_table() -> Result<DataTable, String> {
    let columns = ["α", "σ* of two copies", "best number of copies", "its σ*", "E[R]/E[x] at the optimum, s = 0.2"];
    let mut rows = Vec::new();
    for alpha in SDA_ALPHAS {
        let best = sda(&pareto(alpha)?, 0.2, 64).map_err(text)?;
        let numbers = [alpha, lowest(alpha, 1.0, 0.2)?, f64::from(best.copies), best.sigma, best.resource_ratio];
        rows.push(numbers.map(Cell::from).to_vec());
    }
    Ok(DataTable::new(
        "SDA's optimal σ and number of copies for each tail index α",
        columns.map(str::to_owned).to_vec(),
        rows,
    ))
}

/// Returns the remaining time from which on Mantri starts a duplicate, in mean durations: P(r > 2·x) > δ = 0.25.
fn mantri_starts(alpha: f64) -> Result<f64, String> {
    Ok(2.0 * pareto(alpha)?.quantile(0.25))
}

/// Returns by how many per cent a duplicate changes the expected machine time of a copy with this remaining time.
fn change_by_duplicate(alpha: f64, remaining: f64) -> Result<f64, String> {
    Ok(100.0 * (2.0 * pareto(alpha)?.limited_minimum(remaining, 1.0) / remaining - 1.0))
}

pub(super) fn mantri_change() -> Result<Vec<Measured>, String> {
    let value = "change of the expected machine time by a duplicate at the smallest remaining time with one";
    by_alpha(&ESE_ALPHAS[..4], value, "%", |alpha| Ok(Some(change_by_duplicate(alpha, mantri_starts(alpha)?)?)))
}

pub(super) fn mantri_table() -> Result<DataTable, String> {
    let columns = ["α", "a duplicate starts from", "it saves machine time from", "change where it starts (%)"];
    let mut rows = Vec::new();
    for alpha in &ESE_ALPHAS[..4] {
        let starts = mantri_starts(*alpha)?;
        let numbers = [*alpha, starts, ese_sigma(*alpha)?, change_by_duplicate(*alpha, starts)?];
        rows.push(numbers.map(Cell::from).to_vec());
    }
    let caption = "Remaining times in mean durations from which on Mantri (δ = 0.25) starts a duplicate, and from which \
                   on a duplicate lowers the expected machine time";
    Ok(DataTable::new(caption, columns.map(str::to_owned).to_vec(), rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tau_for_tail_index_2() {
        // By hand: τ(1) = 2σ and τ(2) = 2 − 1/(3σ), in mean durations.
        for sigma in [1.1, 1.707, 5.0] {
            assert!((tau(2.0, sigma, 1) - 2.0 * sigma).abs() < 1e-12);
            assert!((tau(2.0, sigma, 2) - (2.0 - 1.0 / (3.0 * sigma))).abs() < 1e-12);
        }
    }

    #[test]
    fn mantri_starts_before_a_duplicate_pays() {
        // P(r > 2x) = 0.25 where x = r/2 is the quartile μ/√0.75 with μ = 0.5.
        let starts = mantri_starts(2.0).unwrap();
        assert!((starts - 1.0 / 0.75_f64.sqrt()).abs() < 1e-12);
        assert!(change_by_duplicate(2.0, starts).unwrap() > 0.0);
        let pays = 1.0 + 0.5_f64.sqrt();
        assert!(change_by_duplicate(2.0, pays).unwrap().abs() < 1e-9);
    }
}
