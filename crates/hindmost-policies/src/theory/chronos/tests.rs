//! Closed forms, worked cases and simulations of Chronos' machine times.

use super::*;

fn job(strategy: Strategy, beta: f64, deadline: f64, tau_est: f64, tau_kill: f64) -> ChronosJob {
    let durations = ParetoTail::new(2.0, beta).unwrap();
    ChronosJob { strategy, durations, tasks: 10, deadline, tau_est, tau_kill }.checked().unwrap()
}

fn close(value: Option<f64>, expected: f64, tolerance: f64) {
    let value = value.unwrap();
    assert!((value - expected).abs() <= tolerance * expected.abs(), "{value}, expected {expected}");
}

#[test]
fn no_attempt_takes_less_than_the_shortest_duration() {
    // t_min = 5 and D = 4: every original is late, and at 2 s it has done 2/X on average, (2/5)·(2/3).
    let durations = ParetoTail::new(5.0, 2.0).unwrap();
    let job =
        ChronosJob { strategy: Strategy::Resume, durations, tasks: 3, deadline: 4.0, tau_est: 2.0, tau_kill: 2.0 };
    assert!((job.progress() - 4.0 / 15.0).abs() < 1e-12, "{}", job.progress());
}

#[test]
fn clone_has_the_printed_machine_time() {
    // r·τ_kill + t_min + t_min/(β(r+1) − 1) with t_min = 2, β = 1.5, τ_kill = 1.6: r = 0: 2 + 2/0.5 = 6; r = 1: 1.6 + 2
    // + 2/2 = 4.6; r = 3: 4.8 + 2 + 2/5 = 7.2.
    let job = job(Strategy::Clone, 1.5, 10.0, 0.0, 1.6);
    for (more, expected) in [(0, 6.0), (1, 4.6), (3, 7.2)] {
        close(job.machine_time(more), expected, 1e-14);
    }
}

#[test]
fn without_more_attempts_restart_is_the_original_alone() {
    // r = 0: E[X] = β·t_min/(β − 1), whatever D and τ are.
    for (beta, expected) in [(1.5, 6.0), (2.0, 4.0), (3.0, 3.0)] {
        close(job(Strategy::Restart, beta, 7.0, 0.6, 1.6).machine_time(0), expected, 1e-9);
    }
}

#[test]
fn resuming_has_its_closed_form() {
    // β = 2, D = 8, τ_est = 1, τ_kill = 1.5. P(X > D) = 1/16. E[X; X ≤ D] = 2·2·(1 − 2/8) = 3. φ = (1/8)·(2/3) = 1/12,
    // so resumed attempts take at least 11/6 s. r = 1: α = 4, E[V] = 11/6·4/3 = 22/9, and both run until τ_kill.
    let resume = job(Strategy::Resume, 2.0, 8.0, 1.0, 1.5);
    close(resume.machine_time(1), 3.0 + (1.0 + 0.5 + 22.0 / 9.0) / 16.0, 1e-12);
}

#[test]
fn restarting_has_its_closed_form_for_one_backup() {
    // β = 2, r = 1, t_min = 2, D = 8, τ_est = 4 (so left = 4), τ_kill = 5. E[V] = ∫ P(V > v) dv
    // = 2 + ∫_2^4 4/v² dv + ∫_4^∞ (8/(v + 4))²·(2/v)² dv = 2 + 1 + 256·∫_4^∞ dv/(v² (v + 4)²).
    // With 1/(v²(v+4)²) = (1/16)(1/v − 1/(v+4))²: ∫_4^∞ = (1/16)·[1/4 + 1/8 − (1/2)·ln 2].
    let tail = 16.0 * (0.375 - 0.5 * std::f64::consts::LN_2);
    // E[X; X ≤ 8] = 3 and P(X > 8) = 1/16, as above. The backup and the original run until τ_kill.
    let restart = job(Strategy::Restart, 2.0, 8.0, 4.0, 5.0);
    close(restart.machine_time(1), 3.0 + (4.0 + 1.0 + 3.0 + tail) / 16.0, 1e-9);
}

/// Returns numbers in (0, 1], which are a fixed sequence.
fn uniforms() -> impl FnMut() -> f64 {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    move || {
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        ((state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

/// Simulates one task and returns its machine time and whether it met the deadline. Rates are constant, so that the
/// best attempt at τ_kill is the one that finishes first.
fn simulate(job: &ChronosJob, more: u32, draw: &mut impl FnMut() -> f64) -> (f64, bool) {
    let (t_min, beta) = (job.durations.t_min(), job.durations.beta());
    let mut duration = || t_min * draw().powf(-1.0 / beta);
    let r = f64::from(more);
    let first = duration();
    let fresh = |duration: &mut dyn FnMut() -> f64| (0..more).map(|_| duration()).fold(f64::INFINITY, f64::min);
    if job.strategy == Strategy::Clone {
        let first = first.min(fresh(&mut duration));
        return (first + r * first.min(job.tau_kill), first <= job.deadline);
    }
    if first <= job.deadline {
        return (first, true);
    }
    let left = match job.strategy {
        Strategy::Restart => (first - job.tau_est).min(fresh(&mut duration)),
        _ => (1.0 - job.progress()) * duration().min(fresh(&mut duration)),
    };
    let until_kill = job.tau_kill - job.tau_est;
    (job.tau_est + left + r * left.min(until_kill), job.tau_est + left <= job.deadline)
}

#[test]
fn machine_times_and_chances_are_those_of_simulated_tasks() {
    let mut draw = uniforms();
    for strategy in [Strategy::Clone, Strategy::Restart, Strategy::Resume] {
        // The last case: τ_est after t_min, little time left, attempts that end before τ_kill.
        for (beta, deadline, tau_est, tau_kill) in [(2.5, 4.0, 0.6, 1.6), (3.0, 6.0, 1.0, 4.5), (2.2, 4.5, 3.0, 7.0)] {
            for more in [0, 1, 3] {
                let job = job(strategy, beta, deadline, tau_est, tau_kill);
                let (mut sum, mut squares, mut missed) = (0.0, 0.0, 0.0_f64);
                let count = 200_000.0;
                for _ in 0..200_000 {
                    let (time, met) = simulate(&job, more, &mut draw);
                    (sum, squares) = (sum + time, squares + time * time);
                    missed += f64::from(!met);
                }
                let mean = sum / count;
                let error = ((squares / count - mean * mean) / count).sqrt();
                let expected = job.machine_time(more).unwrap();
                // Heavy tails: the sample's deviation is itself uncertain, hence six standard errors.
                assert!((mean - expected).abs() < 6.0 * error, "{job:?} {more}: {mean}, expected {expected}");
                let chance = job.miss().ln(more).exp();
                let spread = (chance * (1.0 - chance) * count).sqrt();
                assert!((missed - chance * count).abs() < 5.0 * spread + 3.0, "{job:?} {more}: {missed}, {chance}");
            }
        }
    }
}

#[test]
fn the_best_number_has_the_highest_utility() {
    // Clone, t_min = 2, β = 2, D = 4, τ_kill = 1, N = 10. Copies miss with 1/4. R(r) = (1 − 4^−(r+1))^10:
    // 0.0563, 0.5245, 0.8543, 0.9616, 0.9903, 0.9976. E[T]·N: 40, 36.67, 44, 52.86, 62.22, 71.82.
    let clone = job(Strategy::Clone, 2.0, 4.0, 0.0, 1.0);
    let weigh = |theta, r_min| Utility { theta, r_min, most: 8 };
    // Free machine time: the largest r, since R always grows.
    assert_eq!(clone.best(&weigh(0.0, Some(0.0))), 8);
    // θ = 0.01, R_min = 0: lg R − 0.01·N·E[T] is −1.650, −0.647, −0.508, −0.546, −0.626.
    assert_eq!(clone.best(&weigh(0.01, Some(0.0))), 2);
    assert!((clone.utility(2, &weigh(0.01, Some(0.0))) - (0.854_29f64.log10() - 0.44)).abs() < 1e-4);
    // θ = 0.1: −5.25, −3.95, −4.47.
    assert_eq!(clone.best(&weigh(0.1, Some(0.0))), 1);
    // R_min = 0.96: three clones are the fewest that exceed it, by 0.0016: lg gives −2.79 − 0.53, against −1.52 − 0.62
    // for four and −1.42 − 0.72 for five (R = 0.9976) and −1.40 − 0.81 for six.
    assert_eq!(clone.best(&weigh(0.01, Some(0.96))), 4);
    // R_min = the PoCD without clones: 0 is no choice, even if time is expensive.
    assert_eq!(clone.best(&weigh(0.1, None)), 1);
    // No r exceeds a PoCD of 1, nor does any help if the deadline can't be met.
    assert_eq!(clone.best(&weigh(0.0, Some(1.0))), 0);
    assert_eq!(job(Strategy::Clone, 2.0, 1.5, 0.0, 1.0).best(&weigh(0.0, None)), 0);
}

#[test]
fn machine_times_are_refused_where_they_are_not_defined() {
    // β = 1/2: the original alone has an infinite mean, three copies have a finite one.
    let heavy = job(Strategy::Clone, 0.5, 10.0, 0.0, 1.0);
    assert_eq!((heavy.machine_time(0), heavy.machine_time(1)), (None, None));
    close(heavy.machine_time(2), 2.0 + 2.0 + 4.0, 1e-12);
    // The deadline is before τ_est.
    assert_eq!(job(Strategy::Restart, 2.0, 3.0, 3.5, 4.0).machine_time(1), None);
    let durations = ParetoTail::new(2.0, 2.0).unwrap();
    let late =
        ChronosJob { strategy: Strategy::Resume, durations, tasks: 1, deadline: 5.0, tau_est: 2.0, tau_kill: 1.0 };
    assert_eq!(late.checked().unwrap_err().to_string(), "tau_kill is 1, but must be at least tau_est");
}
