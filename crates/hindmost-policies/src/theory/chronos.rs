//! Chooses the number of clones or backups of each task by Chronos: Xu, Alamro, Lan & Subramaniam, *Chronos: A Unifying
//! Optimization Framework for Speculative Execution of Deadline-Critical MapReduce Jobs*, ICDCS 2018.
//!
//! Three strategies, all with r more attempts of a task, for Pareto durations:
//! - Clone: r + 1 attempts start together. At τ_kill all but the one with the most progress are stopped.
//! - Speculative-Restart: at τ_est, an attempt that will miss the deadline D gets r backups. At τ_kill all but the one
//!   that will finish first are stopped.
//! - Speculative-Resume: at τ_est, such an attempt is stopped and r + 1 attempts start with its progress. At τ_kill all
//!   but the one that will finish first are stopped.
//!
//! The probability R(r) that the job meets its deadline is in [`pocd`](super::pocd). Chronos chooses the r with the
//! highest utility:
//!
//! ```text
//! U(r) = lg(R(r) − R_min) − θ·C·E(T)
//! ```
//!
//! Here E(T) is the expected machine time of the job's tasks, C the price of a second of it (in θ here), and lg the
//! logarithm to the base 10.
//!
//! E\[T] of a task follows from these rules and not from the printed theorems, some of which hold only where no attempt
//! can end before τ_kill. With X the duration of the original, and V the time from the moment of speculation until the
//! first attempt finishes:
//!
//! ```text
//! Clone:   r·E[min(V, τ_kill)] + E[V],                                 V: the shortest of r + 1 durations
//! others:  E[X; X ≤ D] + P(X > D)·(τ_est + r·E[min(V, τ_kill − τ_est)] + E[V])
//! Restart: P(V > v) = P(X > τ_est + v | X > D)·P(X > v)^r
//! Resume:  P(V > v) = P((1 − φ)·X > v)^(r+1)
//! ```
//!
//! Where no attempt can end before τ_kill, Clone's is the printed r·τ_kill + t_min + t_min/(β(r+1) − 1). φ is the mean
//! progress at τ_est of originals that will miss D, (τ_est/D)·β/(β + 1); of all originals, τ_est/t_min instead of τ_est/D, if D is
//! below t_min.

use hindmost_math::numeric::integrate;

use super::pocd::{MissChance, ParetoTail, PocdError, check};

/// How Chronos starts further attempts of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// All attempts start together.
    Clone,
    /// Backups join an original that will miss the deadline, and start from the beginning.
    Restart,
    /// Attempts with the original's progress replace an original that will miss the deadline.
    Resume,
}

crate::words!(Strategy: Clone = "clone", Restart = "restart", Resume = "resume");

/// A job, and the times at which Chronos decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChronosJob {
    /// How further attempts start.
    pub strategy: Strategy,
    /// Durations of attempts.
    pub durations: ParetoTail,
    /// N: number of tasks.
    pub tasks: u64,
    /// D: seconds from the start of the job to its deadline.
    pub deadline: f64,
    /// τ_est: seconds from the start of an attempt to the estimate of its finish. Not used by [`Strategy::Clone`].
    pub tau_est: f64,
    /// τ_kill: seconds from the start of a task to the end of all attempts but one.
    pub tau_kill: f64,
}

/// What Chronos weighs against each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utility {
    /// θ·C: price of a second of machine time, at least 0.
    pub theta: f64,
    /// R_min: the PoCD that a job must exceed; `None`: the PoCD without clones and backups, so that any improvement
    /// counts.
    pub r_min: Option<f64>,
    /// Largest r to try.
    pub most: u32,
}

/// Tolerance of integrals.
const TOLERANCE: f64 = 1e-10;

impl ChronosJob {
    /// Checks that the times are valid.
    ///
    /// # Errors
    /// If a time is negative or not finite, or τ_kill is before τ_est.
    pub fn checked(self) -> Result<ChronosJob, PocdError> {
        check(self.deadline > 0.0, "deadline", self.deadline, "positive and finite")?;
        check(self.tau_est >= 0.0, "tau_est", self.tau_est, "zero or more")?;
        let from = if self.strategy == Strategy::Clone { 0.0 } else { self.tau_est };
        check(self.tau_kill >= from, "tau_kill", self.tau_kill, "at least tau_est")?;
        Ok(self)
    }

    /// Returns φ, the mean progress at τ_est of originals that will miss the deadline.
    pub fn progress(&self) -> f64 {
        let beta = self.durations.beta();
        let share = if beta.is_finite() { beta / (beta + 1.0) } else { 1.0 };
        // No attempt takes less than t_min.
        (self.tau_est / self.deadline.max(self.durations.t_min()) * share).min(1.0)
    }

    /// Returns the probability that a task misses the deadline.
    pub fn miss(&self) -> MissChance {
        let (durations, deadline) = (self.durations, self.deadline);
        match self.strategy {
            Strategy::Clone => MissChance::submitted(durations, deadline),
            Strategy::Restart => MissChance::speculative_restart(durations, deadline, self.tau_est),
            Strategy::Resume => MissChance::speculative_resume(durations, deadline, self.tau_est, self.progress()),
        }
    }

    /// Returns the expected machine time of a task with r = `more`, in seconds. `None` if it is infinite, or if the
    /// deadline is not after τ_est under a strategy that speculates.
    pub fn machine_time(&self, more: u32) -> Option<f64> {
        let (t_min, beta) = (self.durations.t_min(), self.durations.beta());
        let r = f64::from(more);
        if self.strategy == Strategy::Clone {
            let first = Shortest { t_min, alpha: beta * (r + 1.0) };
            return finite(if more == 0 { first.mean() } else { r * first.mean_up_to(self.tau_kill) + first.mean() });
        }
        let (deadline, tau_est) = (self.deadline, self.tau_est);
        let left = deadline - tau_est;
        if left <= 0.0 {
            return None;
        }
        let late = self.durations_exceed(deadline);
        let original = Shortest { t_min, alpha: beta };
        // E[X; X ≤ D] = E[min(X, D)] − D·P(X > D).
        let in_time = original.mean_up_to(deadline) - deadline * late;
        let until_kill = self.tau_kill - tau_est;
        let (mean, up_to_kill) = match self.strategy {
            Strategy::Resume => {
                let first = Shortest { t_min: (1.0 - self.progress()) * t_min, alpha: beta * (r + 1.0) };
                (first.mean(), first.mean_up_to(until_kill))
            }
            _ => (self.mean_with_original(more, f64::INFINITY), self.mean_with_original(more, until_kill)),
        };
        let speculating = if more == 0 { mean } else { r * up_to_kill + mean };
        finite(in_time + late * (tau_est + speculating))
    }

    /// Returns P(X > `time`).
    fn durations_exceed(&self, time: f64) -> f64 {
        MissChance::submitted(self.durations, time).ln(0).exp()
    }

    /// Returns a lower bound of the expected machine time of a task with r = `more`, which needs no integral. `None` where
    /// none is known.
    fn machine_time_at_least(&self, more: u32) -> Option<f64> {
        let (deadline, tau_est, until_kill) = (self.deadline, self.tau_est, self.tau_kill - self.tau_est);
        let (left, r) = (deadline - tau_est, f64::from(more));
        if self.strategy != Strategy::Restart || more == 0 || left <= self.durations.t_min() || until_kill > left {
            return None;
        }
        let late = self.durations_exceed(deadline);
        let original = Shortest { t_min: self.durations.t_min(), alpha: self.durations.beta() };
        let in_time = original.mean_up_to(deadline) - deadline * late;
        let fresh = Shortest { alpha: original.alpha * r, ..original };
        let alpha = fresh.alpha + original.alpha;
        // After the deadline P(V > v) = (D/(v + τ))^β · (t_min/v)^(βr), which is at least (left/v)^β · (t_min/v)^(βr).
        let after = if alpha > 1.0 { (fresh.t_min / left).powf(fresh.alpha) * left / (alpha - 1.0) } else { 0.0 };
        Some(in_time + late * (tau_est + r * fresh.mean_up_to(until_kill) + fresh.mean_up_to(left) + after))
    }

    /// Returns E\[min(V, `limit`)], where V is the time from τ_est until the original, which will miss the deadline, or
    /// one of `more` new attempts finishes.
    fn mean_with_original(&self, more: u32, limit: f64) -> f64 {
        let (t_min, beta) = (self.durations.t_min(), self.durations.beta());
        let left = self.deadline - self.tau_est;
        if more == 0 {
            // X given X > D is Pareto with the minimum D.
            let late = Shortest { t_min: self.deadline, alpha: beta };
            let whole = limit + self.tau_est;
            return if whole.is_finite() { late.mean_up_to(whole) } else { late.mean() } - self.tau_est;
        }
        let fresh = Shortest { t_min, alpha: beta * f64::from(more) };
        // Until the deadline only new attempts can finish.
        let until_deadline = fresh.mean_up_to(limit.min(left));
        if limit <= left {
            return until_deadline;
        }
        let alpha = fresh.alpha + beta;
        if alpha <= 1.0 && limit == f64::INFINITY {
            return f64::INFINITY;
        }
        // After it, P(V > v) = (D/(v + τ))^β · P(X > v)^r. With v = left·e^u the integrand is v·P(V > v), which falls as
        // e^(−(α − 1)u) for large u.
        let integrand = |u: f64| {
            let v = left * u.exp();
            let original = beta * (self.deadline / (v + self.tau_est)).ln();
            let fresh = if v <= t_min { 0.0 } else { fresh.alpha * (t_min / v).ln() };
            (left.ln() + u + original + fresh).exp()
        };
        // Beyond `end` the integral is below the tolerance.
        let kink = (t_min / left).ln().max(0.0);
        let end = (limit / left).ln().min(kink + 1.0 + 60.0 / (alpha - 1.0).max(0.01));
        let kink = kink.min(end);
        let part = |from: f64, to: f64| if to > from { integrate(integrand, from, to, TOLERANCE).value } else { 0.0 };
        until_deadline + part(0.0, kink) + part(kink, end)
    }

    /// Returns the utility U(r) of r = `more`; −∞ where the PoCD is not above R_min or the machine time is infinite.
    pub fn utility(&self, more: u32, utility: &Utility) -> f64 {
        let miss = self.miss();
        let r_min = utility.r_min.unwrap_or_else(|| miss.pocd(self.tasks, 0));
        let gain = miss.pocd(self.tasks, more) - r_min;
        match self.machine_time(more) {
            Some(time) if gain > 0.0 => gain.log10() - utility.theta * self.tasks as f64 * time,
            _ => f64::NEG_INFINITY,
        }
    }

    /// Returns the r with the highest utility, the smallest one of several. 0 if no r has a PoCD above R_min.
    pub fn best(&self, utility: &Utility) -> u32 {
        let mut best = (0, f64::NEG_INFINITY);
        let miss = self.miss();
        let r_min = utility.r_min.unwrap_or_else(|| miss.pocd(self.tasks, 0));
        for more in 0..=utility.most {
            // Integrals take long, and most r can't be the best one.
            if let Some(time) = self.machine_time_at_least(more).filter(|_| best.1.is_finite()) {
                let gain = (miss.pocd(self.tasks, more) - r_min).max(0.0);
                let most = gain.log10() - utility.theta * self.tasks as f64 * time;
                if most < best.1 - 1e-9 * best.1.abs() - 1e-12 {
                    continue;
                }
            }
            let found = self.utility(more, utility);
            if found > best.1 {
                best = (more, found);
            }
        }
        best.0
    }
}

/// The shortest of some Pareto durations, which is Pareto too.
#[derive(Clone, Copy, Debug)]
struct Shortest {
    t_min: f64,
    /// Sum of the tail indexes.
    alpha: f64,
}

impl Shortest {
    fn mean(self) -> f64 {
        if self.alpha > 1.0 { self.t_min + self.t_min / (self.alpha - 1.0) } else { f64::INFINITY }
    }

    /// Returns E\[min(V, `limit`)].
    fn mean_up_to(self, limit: f64) -> f64 {
        let (t_min, alpha) = (self.t_min, self.alpha);
        if limit <= t_min {
            return limit.max(0.0);
        }
        // t_min + ∫ (t_min/v)^α dv from t_min to the limit = t_min·(1 + (1 − e^(−(α − 1)·L))/(α − 1)), L = ln(limit/t_min).
        let length = (limit / t_min).ln();
        let exponent = (alpha - 1.0) * length;
        let integral = if exponent == 0.0 { length } else { length * (-(-exponent).exp_m1() / exponent) };
        t_min * (1.0 + if exponent.is_infinite() { 0.0 } else { integral })
    }
}

fn finite(seconds: f64) -> Option<f64> {
    seconds.is_finite().then_some(seconds)
}

#[cfg(test)]
mod tests;
