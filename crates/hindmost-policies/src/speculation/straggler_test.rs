//! The part that the rules of Mantri, SDA and ESE share. Candidates are tested again when resources are free.
//! The candidate with the longest remaining time is served first (SDA: with the smallest id). Backups go to the first
//! nodes on which they fit.

use std::cmp::Ordering;

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::estimator::{Knowledge, Pace, Test};
use hindmost_core::ids::AttemptId;
use hindmost_core::policy::{Round, Seen, View};
use hindmost_core::record::{Condition, Decision};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;

use super::candidates::Candidates;
use super::{Rule, by_age, only_copy};

/// A rule that tests attempts one by one and starts backups or replacements for those that pass.
pub(super) trait ByTest: Send {
    /// True if the candidate with the smallest id is served first, instead of the longest remaining time.
    const BY_ID: bool = false;

    /// Returns the rule's candidates.
    fn candidates(&mut self) -> &mut Candidates;

    /// Returns the test for attempts of a phase.
    fn test(&mut self, phase: &Phase) -> Test;

    /// Returns false if no candidate can get a copy now.
    fn is_ready(&self, cluster: &Cluster) -> bool {
        cluster.open_nodes() > 0
    }

    /// Returns false if no attempt with this demand can get a copy now.
    fn is_worth(&self, demand: &Resources, cluster: &Cluster) -> bool {
        cluster.fits_somewhere(demand)
    }

    /// Returns true if the rule starts backups and never replaces an attempt. Such a rule skips jobs that the order
    /// permits no more copies.
    fn only_starts_copies(&self) -> bool {
        true
    }

    /// Starts backups for a candidate or replaces it, if possible.
    fn help(&mut self, id: AttemptId, round: &mut Round<'_>);
}

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
        let only_starts_copies = self.only_starts_copies();
        let slack_needed = |task| if only_starts_copies { round.slack_needed(task) } else { 0.0 };
        candidates.close(slack_needed, round.slack());
        // Attempts that passed the test, with their negated remaining times; the last one is served next. The list has
        // at most one attempt with a known end, and the attempts whose remaining time is estimated from their age and
        // may be longer.
        let (mut found, mut passed_over): (Vec<(f64, AttemptId)>, _) = (Vec::new(), Vec::new());
        while self.is_ready(round.cluster()) {
            let cluster = round.cluster();
            let left = |scale, rank| if R::BY_ID { 0.0 } else { by_age::left(scale, rank, cluster.now()) };
            let above = found.last().map_or(f64::NEG_INFINITY, |(ranked, _)| -ranked);
            let next = candidates.next(left, above, |demand| self.is_worth(demand, cluster));
            if let Some((_, id)) = next {
                if only_starts_copies && !round.may_start(id.task) {
                    candidates.leave_phase(id);
                } else if let Some(ranked) = rank_if_slow(self, id, round) {
                    let at = found.partition_point(|other| order(other, &(ranked, id)).is_gt());
                    found.insert(at, (ranked, id));
                } else {
                    passed_over.extend(slow_again(self, id, round).map(|until| (id, until)));
                }
            } else if let Some((_, id)) = found.pop() {
                self.help(id, round);
            } else {
                break;
            }
        }
        for (id, until) in passed_over {
            candidates.pass_over(id, until);
        }
        candidates.end_round();
        *self.candidates() = candidates;
    }
}

/// Sorts by rank, then by id.
fn order(one: &(f64, AttemptId), other: &(f64, AttemptId)) -> Ordering {
    one.0.total_cmp(&other.0).then(one.1.cmp(&other.1))
}

/// Adds an attempt to the candidates or updates its rank, if it is its task's only copy; otherwise removes it.
fn put<R: ByTest>(rule: &mut R, id: AttemptId, candidates: &mut Candidates, round: &Round<'_>) {
    let cluster = round.cluster();
    let Some((attempt, phase)) = only_copy(id, cluster) else { return candidates.remove(id) };
    let by_age = matches!(round.estimator.knowledge(), Knowledge::Age | Knowledge::History);
    let (rank, due) = match attempt.expected_finish() {
        None if R::BY_ID => ((0, 0), Time::NEVER),
        None if by_age || !phase.gives_progress() => {
            let remaining = round.estimator.remaining(cluster, attempt).unwrap_or(0.0);
            by_age::rank_until(remaining, attempt, phase, cluster)
        }
        // An unknown remaining time ranks last.
        None => ((0, u64::MAX), Time::NEVER),
        // Estimated from the age, the test may fail now and pass again later. So the attempt is checked in every round.
        Some(_) if by_age => ((0, 0), Time::ZERO),
        Some(finish) => (by_age::ends(finish), no_longer_slow(rule.test(phase), finish, phase)),
    };
    candidates.put(if R::BY_ID { (0, 0) } else { rank }, id, due, phase.demand());
}

/// Returns a time just before the known remaining time becomes too short for the test.
fn no_longer_slow(test: Test, finish: Time, phase: &Phase) -> Time {
    let above = Time::from_seconds(match test {
        Test::RemainingAbove(seconds) => seconds,
        Test::FreshLikelyBetter { factor, chance } => factor * phase.durations().quantile(chance),
    });
    finish - (above + Time(1000 + (above.0 >> 40)))
}

/// Tests the candidates that are due again, including those that were passed over. A candidate that is no longer slow is
/// removed and watched again, because a real attempt may slow down later. In a simulation a known remaining time only
/// gets shorter; there the watch costs nothing.
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

/// Returns the rank of a candidate if it still passes the test, otherwise `None`. The rank is its negated remaining time
/// in seconds, or 0 if candidates are served by id.
fn rank_if_slow<R: ByTest>(rule: &mut R, id: AttemptId, round: &Round<'_>) -> Option<f64> {
    let cluster = round.cluster();
    let (attempt, phase) = cluster.attempt(id).zip(cluster.phase(id.task))?;
    let remaining = || round.estimator.remaining(cluster, attempt).unwrap_or(0.0);
    let holds = round.estimator.holds(rule.test(phase), cluster, attempt);
    holds.then(|| if R::BY_ID { 0.0 } else { -remaining() })
}

/// Returns a time before which a candidate that fails the test now does not pass it again. `None` if no such time is
/// known. The candidate's age must be all that is known about its remaining time.
fn slow_again<R: ByTest>(rule: &mut R, id: AttemptId, round: &Round<'_>) -> Option<Time> {
    let cluster = round.cluster();
    let (attempt, phase) = cluster.attempt(id).zip(cluster.phase(id.task))?;
    let test = rule.test(phase);
    let (pace, durations) = (Pace::of(cluster, attempt), phase.durations());
    let limit = match test {
        Test::RemainingAbove(limit) => limit,
        Test::FreshLikelyBetter { .. } => {
            let until = round.estimator.stays_no_until(test, phase, pace)?;
            return Some(attempt.since() + Time::from_seconds(until));
        }
    };
    let condition = round.estimator.condition(test, phase, pace);
    let (Some(Condition::ElapsedAbove(from)), None) = (condition, attempt.expected_finish()) else {
        return None;
    };
    let elapsed = (cluster.now() - attempt.since()).seconds();
    // At the age of the watched condition, and just after it, the test passes whatever remaining time is expected.
    if elapsed <= from + 1e-5 * (from + pace.seconds(1.0)) {
        return None;
    }
    let until = by_age::first_above(pace.age(limit), pace.age(elapsed), durations)?;
    Some(attempt.since() + Time::from_seconds(pace.seconds(until) * (1.0 - 1e-9)))
}

/// Starts up to `backups` backups of an attempt that passed a test. Returns false if none was started.
pub(super) fn start_backups(id: AttemptId, test: Test, backups: u32, round: &mut Round<'_>) -> bool {
    let why = explained(id, test, round);
    let started = round.start_copies(id.task, backups).started > 0;
    if started {
        round.because(why);
    }
    started
}

/// Replaces an attempt that passed a test. Returns false if the cluster refuses the replacement.
pub(super) fn replace(id: AttemptId, test: Test, round: &mut Round<'_>) -> bool {
    let why = explained(id, test, round);
    let replaced = round.replace(id);
    if replaced {
        round.because(why);
    }
    replaced
}

/// Returns the reason for a backup or a replacement, from the state before it starts.
fn explained(id: AttemptId, test: Test, round: &Round<'_>) -> impl FnOnce() -> String + use<> {
    let cluster = round.cluster();
    let mean = cluster.phase(id.task).map_or(0.0, Phase::mean);
    let remaining = cluster.attempt(id).and_then(|attempt| round.estimator.remaining(cluster, attempt));
    move || {
        let remaining = remaining.map_or_else(|| "unknown".to_owned(), |seconds| format!("{seconds:.2} s"));
        format!("attempt {} was found slow: {} (its remaining time: {remaining})", id.copy, test.in_words(mean))
    }
}
