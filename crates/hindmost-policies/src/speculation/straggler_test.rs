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

use super::candidates::Candidates;
use super::{Rule, by_age};

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

    /// True if it can only start copies beside attempts, so that there is nothing to do where the order of jobs permits none.
    fn only_starts_copies(&self) -> bool {
        true
    }

    /// Helps a candidate, if it still can be helped: starts backups or replaces it.
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
        candidates.close(|job| self.allows(job, round.cluster()), slack_needed, round.slack());
        // Those that may be helped, the next one last: one whose end is known, and all told from their age that may precede it.
        let (mut found, mut passed_over): (Vec<(f64, AttemptId)>, _) = (Vec::new(), Vec::new());
        while self.is_ready(round.cluster()) {
            let cluster = round.cluster();
            let left = |scale, rank| if R::BY_ID { 0.0 } else { by_age::left(scale, rank, cluster.now()) };
            let above = found.last().map_or(f64::NEG_INFINITY, |(ranked, _)| -ranked);
            let next = candidates.next(left, above, |demand| self.is_worth(demand, cluster));
            if let Some((_, id)) = next {
                // A backup of this round may have used up what the job is allowed.
                let is_allowed = self.allows(id.task.job, cluster);
                if !is_allowed || (only_starts_copies && !round.may_start(id.task)) {
                    candidates.leave_phase(id);
                } else if let Some(ranked) = judge(self, id, round) {
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
        None if R::BY_ID => ((0, 0), Time::NEVER),
        None if by_age || !phase.gives_progress() => {
            let remaining = round.estimator.remaining(cluster, attempt).unwrap_or(0.0);
            by_age::rank_until(remaining, attempt, phase, cluster)
        }
        // The longest remaining time is first, and last what is not known.
        None => ((0, u64::MAX), Time::NEVER),
        // Looked at in every round: by age the answer may become no and yes again.
        Some(_) if by_age => ((0, 0), Time::ZERO),
        Some(finish) => (by_age::ends(finish), no_longer_slow(rule.test(phase), finish, phase)),
    };
    candidates.put(if R::BY_ID { (0, 0) } else { rank }, id, due, phase.demand());
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
    let (pace, durations) = (Pace::of(cluster, attempt), phase.durations());
    let limit = match test {
        Test::RemainingAbove(limit) | Test::RemainingOrByAgeAbove(limit) => limit,
        Test::FreshLikelyBetter { .. } => {
            let until = round.estimator.stays_no_until(test, phase, pace)?;
            return Some(attempt.since() + Time::from_seconds(until));
        }
    };
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
    let until = by_age::first_above(pace.age(limit), pace.age(elapsed), durations)?;
    Some(attempt.since() + Time::from_seconds(pace.seconds(until) * (1.0 - 1e-9)))
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
