//! Computes the probability that a job completes before its deadline (PoCD): the theorems of Alamro, Xu, Lan &
//! Subramaniam, *Shed: Optimal Dynamic Cloning to Meet Application Deadlines in Cloud*, and of Xu, Alamro, Lan &
//! Subramaniam, *Chronos: A Unifying Optimization Framework for Speculative Execution of Deadline-Critical MapReduce
//! Jobs*, ICDCS 2018.
//!
//! A job of N tasks meets its deadline if every task has a copy that meets it. Copies are independent, and their
//! durations are Pareto: P(X > t) = (t_min/t)^β. If a task misses the deadline with probability p,
//!
//! ```text
//! PoCD = (1 − p)^N
//! ```
//!
//! D is the deadline and τ the time, both counted from the job's submission; φ is the progress at τ; r is the number of
//! clones of each task. p is
//!
//! | | p |
//! | --- | --- |
//! | Shed, a submitted job (R_su); Chronos, Clone | (t_min/D)^(β(r+1)) |
//! | Shed, a running job (R_ru): all r + 1 copies have the progress φ | ((1−φ)·t_min/(D−τ))^(β(r+1)) |
//! | a running job whose clones start from the beginning | (max(τ, t_min)/D)^β · (t_min/(D−τ))^(βr) |
//! | Chronos, Speculative-Restart: r backups at τ if the original will miss D | (t_min/D)^β · (t_min/(D−τ))^(βr) |
//! | Chronos, Speculative-Resume: r + 1 copies replace such an original at τ | (t_min/D)^β · ((1−φ)·t_min/(D−τ))^(β(r+1)) |
//!
//! The third row is not in a paper. Its first factor is the probability that a copy misses D if it has not finished at
//! the age τ.
//!
//! Reading: the papers print the formulas without a limit. Where a base is 1 or more, no copy can end in time and its
//! factor is 1; the printed formula would give a factor above 1, and with an even N a PoCD above 0. A deadline that has
//! passed makes p = 1.
//!
//! Probabilities are kept as logarithms, because 1 − p rounds to 1 long before two jobs are equally safe.

use hindmost_math::distribution::Distribution;

/// Pareto durations, P(X > t) = (t_min/t)^β for t ≥ t_min.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParetoTail {
    t_min: f64,
    beta: f64,
}

/// The error for a number outside its range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{parameter} is {value}, but must be {valid}")]
pub struct PocdError {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// The value that is not valid.
    pub value: f64,
    /// The valid values, in words.
    pub valid: &'static str,
}

/// Checks that a number is valid.
///
/// # Errors
/// If it is not.
pub(crate) fn check(is_valid: bool, parameter: &'static str, value: f64, valid: &'static str) -> Result<(), PocdError> {
    if is_valid && value.is_finite() { Ok(()) } else { Err(PocdError { parameter, value, valid }) }
}

impl ParetoTail {
    /// Creates the durations with smallest value `t_min` > 0, seconds, and tail index `beta` > 0.
    ///
    /// # Errors
    /// If a parameter is outside its range or not finite.
    pub fn new(t_min: f64, beta: f64) -> Result<ParetoTail, PocdError> {
        check(t_min > 0.0, "t_min", t_min, "positive and finite")?;
        check(beta > 0.0, "beta", beta, "positive and finite")?;
        Ok(ParetoTail { t_min, beta })
    }

    /// Returns the Pareto durations by which the formulas describe a distribution: its own minimum and tail index if it
    /// is a Pareto distribution (an upper limit is ignored), or else those of the Pareto distribution with the same mean
    /// and standard deviation. Durations that do not vary have an infinite tail index.
    pub fn of(durations: &Distribution) -> ParetoTail {
        let exact = |t_min, beta| ParetoTail { t_min, beta };
        match durations {
            Distribution::Pareto(pareto) => exact(pareto.minimum(), pareto.alpha()),
            Distribution::Constant(_) => exact(durations.mean(), f64::INFINITY),
            _ => match Distribution::fit_mean_sd(durations.mean(), durations.sd()) {
                Ok(Distribution::Pareto(pareto)) => exact(pareto.minimum(), pareto.alpha()),
                _ => exact(durations.mean(), f64::INFINITY),
            },
        }
    }

    /// Returns t_min, the shortest duration in seconds.
    pub fn t_min(self) -> f64 {
        self.t_min
    }

    /// Returns β, the tail index.
    pub fn beta(self) -> f64 {
        self.beta
    }

    /// Returns the logarithm of (`base`)^β, at most 0.
    fn ln_power(self, base: f64) -> f64 {
        let ln = base.ln();
        // Not a number: 0/0 of an exhausted deadline. ∞·0 is excluded, because the tail index may be infinite.
        if ln < 0.0 { self.beta * ln } else { 0.0 }
    }

    /// Returns the logarithm of the probability that a copy takes longer than `time` seconds.
    fn ln_survival(self, time: f64) -> f64 {
        if time > 0.0 { self.ln_power(self.t_min / time) } else { 0.0 }
    }
}

/// The probability that one task misses its deadline, for any number of clones: p(r) = first · clone^r.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MissChance {
    /// Logarithm of the probability without clones, at most 0.
    first: f64,
    /// Logarithm of the factor of each clone, at most 0.
    clone: f64,
}

impl MissChance {
    /// The task misses its deadline whatever is done.
    pub const CERTAIN: MissChance = MissChance { first: 0.0, clone: 0.0 };

    /// Returns the probability for a task whose r + 1 copies all start `deadline` seconds before the deadline: R_su, and
    /// Chronos' Clone.
    pub fn submitted(tail: ParetoTail, deadline: f64) -> MissChance {
        let copy = tail.ln_survival(deadline);
        MissChance { first: copy, clone: copy }
    }

    /// Returns the probability for a running task whose r + 1 copies all have the progress `progress`, in [0, 1], at
    /// `elapsed` seconds: R_ru. The deadline is `deadline` seconds after the submission.
    pub fn resumed(tail: ParetoTail, deadline: f64, elapsed: f64, progress: f64) -> MissChance {
        let left = deadline - elapsed;
        if left <= 0.0 {
            return MissChance::CERTAIN;
        }
        let copy = tail.ln_power((1.0 - progress) * tail.t_min / left);
        MissChance { first: copy, clone: copy }
    }

    /// Returns the probability for a task whose original has been running for `elapsed` seconds, and whose clones start
    /// now and from the beginning.
    pub fn restarted(tail: ParetoTail, deadline: f64, elapsed: f64) -> MissChance {
        if deadline <= elapsed {
            return MissChance::CERTAIN;
        }
        let first = tail.ln_power(elapsed.max(tail.t_min) / deadline);
        MissChance { first, clone: tail.ln_survival(deadline - elapsed) }
    }

    /// Returns the probability for a task whose original gets r backups at `elapsed` seconds if it will miss the
    /// deadline: Chronos' Speculative-Restart.
    pub fn speculative_restart(tail: ParetoTail, deadline: f64, elapsed: f64) -> MissChance {
        MissChance { first: tail.ln_survival(deadline), clone: tail.ln_survival(deadline - elapsed) }
    }

    /// Returns the probability for a task whose original is replaced by r + 1 copies with its progress at `elapsed`
    /// seconds if it will miss the deadline: Chronos' Speculative-Resume. `progress` is the mean progress of such
    /// originals.
    pub fn speculative_resume(tail: ParetoTail, deadline: f64, elapsed: f64, progress: f64) -> MissChance {
        let resumed = MissChance::resumed(tail, deadline, elapsed, progress);
        MissChance { first: tail.ln_survival(deadline) + resumed.first, clone: resumed.clone }
    }

    /// Returns the logarithm of the probability that a task with `clones` clones misses its deadline.
    pub fn ln(self, clones: u32) -> f64 {
        // An infinite logarithm times 0 would not be a number.
        if clones == 0 { self.first } else { self.first + f64::from(clones) * self.clone }
    }

    /// Returns the logarithm of the probability that a job of `tasks` tasks meets its deadline: N·ln(1 − p).
    pub fn ln_pocd(self, tasks: u64, clones: u32) -> f64 {
        if tasks == 0 { 0.0 } else { tasks as f64 * ln_one_minus_exp(self.ln(clones)) }
    }

    /// Returns the probability that a job of `tasks` tasks meets its deadline.
    pub fn pocd(self, tasks: u64, clones: u32) -> f64 {
        self.ln_pocd(tasks, clones).exp()
    }

    /// Returns ln(−ln PoCD), which orders jobs as their PoCD does, the largest value having the lowest PoCD, and also
    /// orders those whose PoCD rounds to 1 or underflows. ∞ if the PoCD is 0.
    pub fn ln_risk(self, tasks: u64, clones: u32) -> f64 {
        let ln_miss = self.ln(clones);
        // −ln(1 − p) is p to the precision of doubles for such small p.
        let of_a_task = if ln_miss < -40.0 { ln_miss } else { (-ln_one_minus_exp(ln_miss)).ln() };
        if tasks == 0 { f64::NEG_INFINITY } else { (tasks as f64).ln() + of_a_task }
    }

    /// Returns true if the task misses its deadline with any number of clones.
    pub fn is_certain(self) -> bool {
        self == MissChance::CERTAIN
    }

    /// Returns true if each clone makes a miss less likely. False if no clone can end before the deadline: the task is then
    /// as likely to miss it with any number of clones as without, which need not be certain if clones start from the
    /// beginning.
    pub fn falls_with_clones(self) -> bool {
        self.clone < 0.0
    }
}

/// Returns ln(1 − e^x) for x ≤ 0, without loss of digits.
fn ln_one_minus_exp(x: f64) -> f64 {
    if x > -std::f64::consts::LN_2 { (-x.exp_m1()).ln() } else { (-x.exp()).ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(t_min: f64, beta: f64) -> ParetoTail {
        ParetoTail::new(t_min, beta).unwrap()
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-12 * expected.abs().max(1e-300), "{value}, expected {expected}");
    }

    #[test]
    fn submitted_jobs_have_the_papers_pocd() {
        // t_min/D = 1/2 and β = 2: a copy misses with 1/4. Three tasks without clones: (3/4)³ = 27/64.
        let miss = MissChance::submitted(tail(5.0, 2.0), 10.0);
        close(miss.pocd(3, 0), 27.0 / 64.0);
        // One clone of each: (15/16)³ = 3375/4096. Two: (63/64)³.
        close(miss.pocd(3, 1), 3375.0 / 4096.0);
        close(miss.pocd(3, 2), (63.0f64 / 64.0).powi(3));
        assert_eq!(miss.pocd(0, 0), 1.0);
    }

    #[test]
    fn running_jobs_have_the_papers_pocd() {
        // (1 − 1/2)·4/(12 − 4) = 1/4, β = 1: a copy misses with 1/4.
        let miss = MissChance::resumed(tail(4.0, 1.0), 12.0, 4.0, 0.5);
        close(miss.pocd(2, 0), 9.0 / 16.0);
        close(miss.pocd(2, 1), 225.0 / 256.0);
        // At the submission, without progress, it is R_su.
        assert_eq!(MissChance::resumed(tail(4.0, 1.0), 12.0, 0.0, 0.0), MissChance::submitted(tail(4.0, 1.0), 12.0));
        // All work is done: no copy misses.
        assert_eq!(MissChance::resumed(tail(4.0, 1.0), 12.0, 4.0, 1.0).pocd(9, 0), 1.0);
    }

    #[test]
    fn clones_that_start_over_join_an_original_of_known_age() {
        // At 6 s the original has outlived t_min = 3, so P(X > 12 | X > 6) = (6/12)² = 1/4; a clone misses with
        // (3/6)² = 1/4.
        let miss = MissChance::restarted(tail(3.0, 2.0), 12.0, 6.0);
        close(miss.ln(0), 0.25f64.ln());
        close(miss.ln(2), 0.25f64.powi(3).ln());
        // At 2 s the original can't have finished yet: P(X > 12) = (3/12)²; a clone misses with (3/10)².
        let miss = MissChance::restarted(tail(3.0, 2.0), 12.0, 2.0);
        close(miss.ln(0), (1.0f64 / 16.0).ln());
        close(miss.ln(1), (0.09f64 / 16.0).ln());
    }

    #[test]
    fn chronos_has_its_three_chances() {
        // t_min = 2, β = 2, D = 8, τ = 4. An original misses with (2/8)² = 1/16. A backup misses with (2/4)² = 1/4. A
        // resumed copy of progress 1/2 misses with (1/4)² = 1/16.
        let durations = tail(2.0, 2.0);
        close(MissChance::submitted(durations, 8.0).ln(1), (1.0f64 / 256.0).ln());
        let restart = MissChance::speculative_restart(durations, 8.0, 4.0);
        close(restart.ln(0), (1.0f64 / 16.0).ln());
        close(restart.ln(2), (1.0f64 / 256.0).ln());
        let resume = MissChance::speculative_resume(durations, 8.0, 4.0, 0.5);
        close(resume.ln(0), (1.0f64 / 256.0).ln());
        close(resume.ln(1), (1.0f64 / 4096.0).ln());
        // Too late for a backup (base 2/1 above 1): only the original counts.
        let late = MissChance::speculative_restart(durations, 8.0, 7.0);
        assert_eq!(late.ln(5), late.ln(0));
        assert!(!late.is_certain());
    }

    #[test]
    fn a_base_of_one_or_more_gives_probability_zero() {
        // t_min/D = 1 and above: no copy can end in time. The printed formula gives (1 − 4)² = 9 for t_min/D = 2, β = 2,
        // two tasks.
        for deadline in [5.0, 2.5, 0.0, -1.0] {
            let miss = MissChance::submitted(tail(5.0, 2.0), deadline);
            assert!(miss.is_certain(), "{deadline}");
            assert_eq!((miss.pocd(2, 0), miss.pocd(2, 9)), (0.0, 0.0));
            assert_eq!(miss.ln_risk(2, 0), f64::INFINITY);
        }
        // A passed deadline: D − τ is 0 or negative, also where (1 − φ)·t_min is 0.
        for (elapsed, progress) in [(10.0, 0.3), (11.0, 0.3), (10.0, 1.0)] {
            assert!(MissChance::resumed(tail(5.0, 2.0), 10.0, elapsed, progress).is_certain());
            assert!(MissChance::restarted(tail(5.0, 2.0), 10.0, elapsed).is_certain());
        }
        // Just enough time is not enough: the base is 1.
        assert!(MissChance::resumed(tail(4.0, 2.0), 6.0, 4.0, 0.5).is_certain());
    }

    #[test]
    fn risks_order_jobs_whose_pocd_rounds_to_one() {
        let (safe, safer) =
            (MissChance::submitted(tail(1.0, 2.0), 1e5), MissChance::submitted(tail(1.0, 2.0), 1.000_1e5));
        assert_eq!((safe.pocd(10, 3), safer.pocd(10, 3)), (1.0, 1.0));
        assert!(safe.ln_risk(10, 3) > safer.ln_risk(10, 3));
        // p = 10^-400 underflows, but its logarithm does not: ln 10 + ln p.
        close(safe.ln_risk(10, 39), (1.0 - 400.0) * std::f64::consts::LN_10);
        // Both branches of the logarithm agree at their border: p = e^-40.
        let border = |ln: f64| MissChance { first: ln, clone: 0.0 }.ln_risk(1, 0);
        close(border(-40.0 + 1e-9), -40.0 + 1e-9);
        assert!((border(-40.0 - 1e-9) - border(-40.0 + 1e-9)).abs() < 1e-8);
    }

    #[test]
    fn tails_of_other_distributions_have_their_mean_and_deviation() {
        let of = |text: &str| ParetoTail::of(&text.parse().unwrap());
        assert_eq!(of("pareto(alpha=1.5,minimum=4)"), tail(4.0, 1.5));
        // Mean 1 and deviation 1: α = 1 + √2, and the minimum is (α − 1)/α.
        let alpha = 1.0 + 2f64.sqrt();
        let found = of("exponential(mean=1)");
        close(found.beta(), alpha);
        close(found.t_min(), (alpha - 1.0) / alpha);
        // Durations that do not vary meet every deadline after them, and no earlier one.
        let constant = of("3");
        assert_eq!(MissChance::submitted(constant, 3.5).pocd(7, 0), 1.0);
        assert_eq!(MissChance::submitted(constant, 3.0).pocd(7, 0), 0.0);
        assert_eq!(MissChance::submitted(constant, 3.5).ln_risk(7, 2), f64::NEG_INFINITY);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        assert!(ParetoTail::new(0.0, 1.0).is_err() && ParetoTail::new(1.0, f64::INFINITY).is_err());
        let error = ParetoTail::new(1.0, -2.0).unwrap_err();
        assert_eq!(error.to_string(), "beta is -2, but must be positive and finite");
    }
}
