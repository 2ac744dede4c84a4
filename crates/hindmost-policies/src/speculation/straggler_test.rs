//! What Mantri, SDA, ESE and Hadoop's rule share: the candidate is tested again when resources are free, the longest
//! remaining time is helped first, and the backups go to the first nodes.

use std::cmp::Ordering;

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::estimator::{Knowledge, Pace, Test};
use hindmost_core::ids::{AttemptId, JobId};
use hindmost_core::policy::{Round, Seen, View};
use hindmost_core::record::{Condition, Decision};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use hindmost_math::distribution::Distribution;

use super::Rule;
use super::candidates::Candidates;

/// A rule that asks a question about attempts, and helps those one after the other of which the answer is yes.
pub(super) trait ByTest: Send {
    /// True if the order is by id, and not the longest remaining time first.
    const BY_ID: bool = false;

    /// Where it keeps its candidates.
    fn candidates(&mut self) -> &mut Candidates;

    /// What it asks about attempts of a phase.
    fn test(&mut self, phase: &Phase) -> Test;

    /// False if nothing can be done in this round, whoever the candidates are.
    fn is_ready(&self, cluster: &Cluster) -> bool {
        cluster.open_nodes() > 0
    }

    /// False if nothing can be done for attempts of this demand.
    fn is_worth(&self, demand: &Resources, cluster: &Cluster) -> bool {
        cluster.fits_somewhere(demand)
    }

    /// False if attempts of a job may not be helped now. The answer may change with what becomes of its attempts.
    fn allows(&self, _job: JobId, _cluster: &Cluster) -> bool {
        true
    }

    /// Helps a candidate, if it still can be helped: starts backups or replaces it.
    fn help(&mut self, id: AttemptId, round: &mut Round<'_>);
}

/// Rank of a candidate whose remaining time is told from its age: it has to be asked for.
const BY_AGE: u64 = 0;

impl<R: ByTest> Rule for R {
    fn condition(&mut self, attempt: &Attempt, phase: &Phase, view: &View<'_>) -> Option<Condition> {
        if phase.is_assumed() {
            return None;
        }
        view.estimator.condition(self.test(phase), phase, Pace::of(view.cluster, attempt))
    }

    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>, candidates: &mut Vec<AttemptId>) {
        self.candidates().observe(seen, view.cluster, candidates);
    }

    fn serve(&mut self, new: &mut Vec<AttemptId>, round: &mut Round<'_>) {
        if (new.is_empty() && self.candidates().is_empty()) || !self.is_ready(round.cluster()) {
            return;
        }
        let mut candidates = std::mem::take(self.candidates());
        for id in new.drain(..) {
            put(self, id, &mut candidates, round);
        }
        candidates.forget_copied(round.cluster());
        forget_no_longer_slow(self, &mut candidates, round);
        candidates.close(|job| self.allows(job, round.cluster()));
        // Those whose remaining time is told from their age come first of all, to be sorted among the others.
        let mut by_age: Vec<(f64, AttemptId)> = Vec::new();
        let (mut sorted, mut first, mut passed_over) = (false, None, Vec::new());
        while self.is_ready(round.cluster()) {
            while first.is_none() {
                let cluster = round.cluster();
                let Some((rank, id)) = candidates.next(|demand| self.is_worth(demand, cluster)) else { break };
                // A backup of this round may have used up what the job is allowed.
                if !self.allows(id.task.job, cluster) {
                    candidates.leave_phase(id);
                    continue;
                }
                let Some(ranked) = judge(self, id, round) else {
                    passed_over.extend(slow_again(self, id, round).map(|until| (id, until)));
                    continue;
                };
                if rank == BY_AGE { by_age.push((ranked, id)) } else { first = Some((ranked, id)) }
            }
            if !sorted {
                by_age.sort_unstable_by(|one, other| order(other, one));
                sorted = true;
            }
            let oldest = by_age.last().filter(|oldest| first.is_none_or(|first| order(oldest, &first).is_lt()));
            let Some((_, id)) = (if oldest.is_some() { by_age.pop() } else { first.take() }) else { break };
            self.help(id, round);
        }
        for (id, until) in passed_over {
            candidates.pass_over(id, until);
        }
        candidates.end_round();
        *self.candidates() = candidates;
    }
}

/// The smaller rank is first, then the smaller id.
fn order(one: &(f64, AttemptId), other: &(f64, AttemptId)) -> Ordering {
    one.0.total_cmp(&other.0).then(one.1.cmp(&other.1))
}

/// Puts an attempt in its place among the candidates, if it is its task's only copy.
fn put<R: ByTest>(rule: &mut R, id: AttemptId, candidates: &mut Candidates, round: &Round<'_>) {
    let cluster = round.cluster();
    let attempt = cluster.attempt(id).filter(|attempt| cluster.is_only_copy(attempt));
    let Some((attempt, phase)) = attempt.zip(cluster.phase(id.task)) else { return candidates.remove(id) };
    let by_age = matches!(round.estimator.knowledge(), Knowledge::Age | Knowledge::History);
    let (rank, due) = match attempt.expected_finish() {
        None if by_age || !phase.gives_progress() => (BY_AGE, Time::NEVER),
        // The longest remaining time is first, and last what is not known.
        None => (u64::MAX, Time::NEVER),
        // Looked at in every round: by age the answer may become no and yes again.
        Some(_) if by_age => (BY_AGE, Time::ZERO),
        Some(finish) => (u64::MAX - finish.0, no_longer_slow(rule.test(phase), finish, phase)),
    };
    let rank = if R::BY_ID { rank.min(1) } else { rank };
    candidates.put((rank, id), due, phase.demand());
}

/// A time just before the one from which on a remaining time that is known is too short.
fn no_longer_slow(test: Test, finish: Time, phase: &Phase) -> Time {
    let above = Time::from_seconds(match test {
        Test::RemainingAbove(seconds) | Test::RemainingOrByAgeAbove(seconds) => seconds,
        Test::FreshLikelyBetter { factor, chance } => factor * phase.durations().quantile(chance),
    });
    finish - (above + Time(1000 + (above.0 >> 40)))
}

/// Forgets the candidates of which it is known that they are not slow any more, and looks again at those that were passed
/// over. A remaining time only gets shorter, unless
/// a real attempt slows down: that is worth another watch, which costs a simulation nothing.
fn forget_no_longer_slow<R: ByTest>(rule: &mut R, candidates: &mut Candidates, round: &mut Round<'_>) {
    for id in candidates.take_due(round.cluster().now()) {
        let cluster = round.cluster();
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { continue };
        let test = rule.test(phase);
        if attempt.expected_finish().is_none() || round.estimator.holds(test, cluster, attempt) {
            put(rule, id, candidates, round);
            continue;
        }
        candidates.remove(id);
        if let Some(condition) = round.estimator.condition(test, phase, Pace::of(cluster, attempt)) {
            round.decide(Decision::Watch { attempt: id, condition });
        }
    }
}

/// The rank of a candidate if the answer is still yes. By age it may be yes again later.
fn judge<R: ByTest>(rule: &mut R, id: AttemptId, round: &Round<'_>) -> Option<f64> {
    let cluster = round.cluster();
    let (attempt, phase) = cluster.attempt(id).zip(cluster.phase(id.task))?;
    let remaining = || round.estimator.remaining(cluster, attempt).unwrap_or(0.0);
    let holds = round.estimator.holds(rule.test(phase), cluster, attempt);
    holds.then(|| if R::BY_ID { 0.0 } else { -remaining() })
}

/// A time before which the answer for a candidate, no now, is not yes again, if only its age is known.
fn slow_again<R: ByTest>(rule: &mut R, id: AttemptId, round: &Round<'_>) -> Option<Time> {
    let cluster = round.cluster();
    let (attempt, phase) = cluster.attempt(id).zip(cluster.phase(id.task))?;
    let test = rule.test(phase);
    let (Test::RemainingAbove(limit) | Test::RemainingOrByAgeAbove(limit)) = test else { return None };
    let (pace, durations) = (Pace::of(cluster, attempt), phase.durations());
    let condition = round.estimator.condition(test, phase, pace);
    let (Some(Condition::ElapsedAbove(from) | Condition::RemainingOrElapsedAbove(_, from)), None) =
        (condition, attempt.expected_finish())
    else {
        return None;
    };
    let elapsed = (cluster.now() - attempt.since()).seconds();
    // From that age on the answer is yes for a moment, whatever is expected.
    if elapsed <= from + 1e-5 * (from + pace.seconds(1.0)) {
        return None;
    }
    let until = first_above(pace.age(limit), pace.age(elapsed), durations)?;
    Some(attempt.since() + Time::from_seconds(pace.seconds(until) * (1.0 - 1e-9)))
}

/// An age before which the expected remaining time is not above a limit, as it is not at a given one. At age a it is ∫S/S(a)
/// from a on, m(a): it is above the limit at a later age b only if S(b) < m(a)·S(a)/limit.
fn first_above(limit: f64, age: f64, durations: &Distribution) -> Option<f64> {
    // What is expected is known to some digits only.
    let share = 1.01 * durations.mean_residual(age) / limit;
    let survival = share * durations.survival(age);
    (share < 1.0).then(|| if survival > 0.0 { durations.survival_quantile(survival) } else { f64::INFINITY })
}

/// Starts up to so many backups beside an attempt that a test found slow; false if none was started.
pub(super) fn start_backups(id: AttemptId, test: Test, backups: u32, round: &mut Round<'_>) -> bool {
    let why = explained(id, test, round);
    let started = round.start_copies(id.task, backups).started > 0;
    if started {
        round.because(why);
    }
    started
}

/// Replaces an attempt that a test found slow; false if that is not possible.
pub(super) fn replace(id: AttemptId, test: Test, round: &mut Round<'_>) -> bool {
    let why = explained(id, test, round);
    let replaced = round.replace(id);
    if replaced {
        round.because(why);
    }
    replaced
}

/// Why an attempt is helped, from what is known before.
fn explained(id: AttemptId, test: Test, round: &Round<'_>) -> impl FnOnce() -> String + use<> {
    let cluster = round.cluster();
    let mean = cluster.phase(id.task).map_or(0.0, Phase::mean);
    let remaining = cluster.attempt(id).and_then(|attempt| round.estimator.remaining(cluster, attempt));
    move || {
        let remaining = remaining.map_or_else(|| "unknown".to_owned(), |seconds| format!("{seconds:.2} s"));
        format!("copy {} was found slow: {} (its remaining time: {remaining})", id.copy, test.in_words(mean))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_expected_to_take_long_before_it_may_be() {
        let (heavy, light) = (Distribution::pareto_with_mean(2.0, 2.0), Distribution::uniform(1.0, 3.0));
        let all = [heavy, light, Distribution::log_normal(2.0, 2.0), Distribution::exponential(2.0)];
        let grid = (0..20).flat_map(|age| (1..20).map(move |limit| (0.2 * f64::from(age), 0.4 * f64::from(limit))));
        for durations in all.map(Result::unwrap) {
            for (age, limit) in grid.clone() {
                let Some(until) = first_above(limit, age, &durations) else { continue };
                assert!(durations.mean_residual(age) < limit && until >= age, "{durations:?} {age} {limit}");
                for step in 0..100 {
                    let later = age + (until.min(100.0) - age) * f64::from(step) / 100.0;
                    assert!(durations.mean_residual(later) <= limit, "{durations:?} {age} {limit} {later}");
                }
            }
        }
    }
}
