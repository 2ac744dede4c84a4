//! What Mantri, SDA, ESE and Hadoop's rule share: the candidate is tested again when resources are free, the longest
//! remaining time is helped first, and the backups go to the first nodes.

use hindmost_core::cluster::{Attempt, Phase};
use hindmost_core::estimator::{Pace, Test};
use hindmost_core::ids::AttemptId;
use hindmost_core::policy::{Round, View};
use hindmost_core::record::Condition;

use super::Judgement;

/// The condition under which the answer to a question about an attempt becomes yes.
pub(super) fn condition(test: Test, attempt: &Attempt, phase: &Phase, view: &View<'_>) -> Option<Condition> {
    if phase.is_assumed() {
        return None;
    }
    view.estimator.condition(test, phase, Pace::of(view.cluster, attempt))
}

/// Whether the answer is still yes, with the longest remaining time as the smallest rank.
pub(super) fn judge(test: Test, attempt: &Attempt, phase: &Phase, round: &Round<'_>) -> Judgement {
    let cluster = round.cluster();
    if round.estimator.holds(test, cluster, attempt) {
        return Judgement::Help(-round.estimator.remaining(cluster, attempt).unwrap_or(0.0));
    }
    // By age the test may hold again later. A known remaining time only gets shorter, unless a real attempt slows down:
    // that is worth another watch, which costs a simulation nothing.
    if attempt.expected_finish().is_none() {
        return Judgement::Wait;
    }
    let condition = round.estimator.condition(test, phase, Pace::of(cluster, attempt));
    condition.map_or(Judgement::Forget, Judgement::WatchAgain)
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
