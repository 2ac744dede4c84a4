//! Random numbers that depend on what they are for, not on when they are drawn.
//!
//! Every draw is a hash of the seed, a purpose and an id. So all policies see the same jobs for one seed, and the k-th
//! copy of a task has the same duration under every policy. These draws depend neither on earlier starts nor on
//! threads.

use hindmost_math::random::{self, unit};

use crate::ids::{AttemptId, TaskId};

/// What a number is drawn for. Draws for different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Times between arrivals of jobs.
    Arrival = 1,
    /// The number of tasks of a phase.
    Tasks = 2,
    /// Parameters of a job, such as means and tail indices.
    Parameter = 3,
    /// The part of a copy's duration that only this copy has.
    Duration = 4,
    /// The part of a duration that all copies of a task share.
    CommonDuration = 5,
    /// The fraction of its work after which a copy's remaining time becomes known.
    Detection = 6,
    /// Random errors, such as those of estimated remaining times.
    Noise = 7,
    /// Choices of nodes for copies.
    Placement = 8,
    /// Properties of nodes, such as their speed.
    Node = 9,
    /// The queue that a job is submitted to.
    Queue = 10,
    /// The kind of a job.
    Kind = 11,
    /// Parameters of the input sizes of a job's tasks.
    Input = 12,
    /// The input size of a task.
    InputOfTask = 13,
    /// The nodes that hold replicas of a task's input.
    Replica = 14,
    /// Parameters of the load that a node's neighbours put on it.
    Neighbours = 15,
    /// The periods of that load, and how much each slows the node down.
    NeighbourPeriod = 16,
    /// Parameters of the stragglers of a job.
    Stragglers = 17,
    /// Whether a copy straggles.
    Straggler = 18,
    /// By how much a straggling copy is slowed down.
    StragglerSlowdown = 19,
    /// Parameters of a node's random failures.
    Failures = 20,
    /// The times between failures of a node, and its repair times.
    Failure = 21,
    /// Which measured speed a node has.
    MeasuredSpeed = 22,
    /// Errors of the durations that policies know.
    DurationError = 23,
    /// Deadlines of jobs.
    Deadline = 24,
}

/// Returns a hash of a seed, a purpose and two numbers that identify the job, task or copy.
#[inline]
pub fn hash(seed: u64, purpose: Purpose, first: u64, second: u64) -> u64 {
    random::hash(seed, purpose as u64, first, second)
}

/// Returns a number in (0, 1) for the `number`-th parameter of the `index`-th job or node.
#[inline]
pub fn draw(seed: u64, purpose: Purpose, index: u64, number: u64) -> f64 {
    unit(hash(seed, purpose, index, number))
}

/// Returns a number in (0, 1) for a task, the same for all its copies.
#[inline]
pub fn draw_for_task(seed: u64, purpose: Purpose, task: TaskId) -> f64 {
    draw_for_attempt(seed, purpose, AttemptId { task, copy: 0 })
}

/// Returns a number in (0, 1) for one copy of a task.
#[inline]
pub fn draw_for_attempt(seed: u64, purpose: Purpose, attempt: AttemptId) -> f64 {
    let AttemptId { task, copy } = attempt;
    let first = (u64::from(task.job.0) << 32) | u64::from(task.phase);
    let second = (u64::from(task.index) << 32) | u64::from(copy);
    unit(hash(seed, purpose, first, second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::JobId;

    #[test]
    fn draws_are_uniform_and_uncorrelated_between_copies() {
        let n = 100_000;
        let (mut sum, mut squares, mut products) = (0.0, 0.0, 0.0);
        for index in 0..n {
            let task = TaskId { job: JobId(index / 100), phase: 0, index: index % 100 };
            let first = draw_for_attempt(1, Purpose::Duration, AttemptId { task, copy: 0 });
            let second = draw_for_attempt(1, Purpose::Duration, AttemptId { task, copy: 1 });
            assert!(first > 0.0 && first < 1.0);
            sum += first;
            squares += first * first;
            products += (first - 0.5) * (second - 0.5);
        }
        let n = f64::from(n);
        // Tolerances are four standard errors. The standard deviations are 1/√12 for a draw, 0.298 for its square, and
        // 1/12 for the product of two draws minus their means.
        assert!((sum / n - 0.5).abs() < 4.0 * (1.0f64 / 12.0).sqrt() / n.sqrt());
        assert!((squares / n - 1.0 / 3.0).abs() < 4.0 * 0.298 / n.sqrt());
        assert!((products / n).abs() < 4.0 / 12.0 / n.sqrt());
    }

    #[test]
    fn purposes_and_seeds_are_independent() {
        assert_ne!(draw(1, Purpose::Arrival, 0, 0), draw(1, Purpose::Tasks, 0, 0));
        assert_ne!(draw(1, Purpose::Arrival, 0, 0), draw(2, Purpose::Arrival, 0, 0));
    }
}
