//! Checks the queues to which jobs are submitted: the [`QueueSpec`]s of a scenario or journal.

use std::collections::BTreeMap;

use crate::workload::QueueSpec;
use hindmost_math::plain::{Plain, Quoted};
use hindmost_math::suggest::did_you_mean;

/// The queue of jobs that name no queue.
pub const DEFAULT_QUEUE: &str = "default";

/// Tolerance for sums of decimal shares that must be at most 1.
const ROUNDING: f64 = 1e-9;

/// The error for an invalid queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("queue, entry {entry} ({}): {reason}", Quoted(name))]
pub struct BadQueue {
    /// Position of the queue in the list, from 1.
    entry: usize,
    /// Name of the queue.
    name: String,
    /// What is wrong with the queue, and what would be valid.
    reason: String,
}

/// Returns the path of the parent queue; `None` for a top-level queue.
pub fn parent_of(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(parent, _)| parent)
}

/// Checks names and shares, and that every queue's parent exists.
///
/// # Errors
/// If a queue is invalid; the error describes the first one.
pub fn check(queues: &[QueueSpec]) -> Result<(), BadQueue> {
    let mut entries: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, queue) in queues.iter().enumerate() {
        let wrong = |reason| BadQueue { entry: at + 1, name: queue.name.to_string(), reason };
        check_name(&queue.name).map_err(wrong)?;
        if let Some(first) = entries.insert(&queue.name, at) {
            return Err(wrong(format!("entry {} has the same name", first + 1)));
        }
        check_shares(queue).map_err(wrong)?;
    }
    // Sum of the shares guaranteed to the direct children of each queue, by its name.
    let mut given: BTreeMap<&str, f64> = BTreeMap::new();
    for (at, queue) in queues.iter().enumerate() {
        let wrong = |reason| BadQueue { entry: at + 1, name: queue.name.to_string(), reason };
        let parent = parent_of(&queue.name).unwrap_or("");
        if !parent.is_empty() && !entries.contains_key(parent) {
            // Suggest neither this queue nor its siblings, whose parent is missing too.
            let others = entries.keys().copied().filter(|name| parent_of(name).is_none_or(|above| above != parent));
            let near = did_you_mean(parent, others);
            return Err(wrong(format!("its parent {parent:?} is not a queue{near}")));
        }
        let sum = given.entry(parent).or_default();
        *sum += queue.guaranteed;
        if *sum > 1.0 + ROUNDING {
            let siblings =
                if parent.is_empty() { "top-level queues".to_owned() } else { format!("queues below {parent:?}") };
            let sum = Plain(without_error(*sum));
            return Err(wrong(format!(
                "its guaranteed share of {} raises the sum for the {siblings} to {sum}, but the sum must be at most 1",
                Plain(queue.guaranteed)
            )));
        }
    }
    Ok(())
}

/// Removes the rounding error of a sum of decimal numbers: 0.7 + 0.6 becomes 1.3.
pub fn without_error(sum: f64) -> f64 {
    format!("{sum:.12e}").parse().unwrap_or(sum)
}

fn check_name(name: &str) -> Result<(), String> {
    let is_word = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if !name.split('.').all(is_word) {
        return Err(
            "a name consists of letters, digits, _ and -, with a dot between a parent queue and its child".to_owned()
        );
    }
    if name == "root" || name.starts_with("root.") {
        return Err("queue names start below root: remove root from the name".to_owned());
    }
    Ok(())
}

fn check_shares(queue: &QueueSpec) -> Result<(), String> {
    let QueueSpec { guaranteed, maximum, .. } = queue;
    if !(0.0..=1.0).contains(guaranteed) {
        return Err(format!(
            "guaranteed is {}, but must be from 0 to 1, a share of the parent queue or of the cluster",
            Plain(*guaranteed)
        ));
    }
    if !(*maximum > 0.0 && *maximum <= 1.0) {
        return Err(format!(
            "maximum is {}, but must be above 0 and at most 1, a share of the parent queue or of the cluster",
            Plain(*maximum)
        ));
    }
    if maximum < guaranteed {
        let (maximum, guaranteed) = (Plain(*maximum), Plain(*guaranteed));
        return Err(format!("maximum is {maximum}, but must be at least the guaranteed share, {guaranteed}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(queues: &[(&str, f64, f64)]) -> Result<(), String> {
        let queue = |(name, guaranteed, maximum): &(&str, f64, f64)| QueueSpec {
            name: (*name).into(),
            guaranteed: *guaranteed,
            maximum: *maximum,
        };
        check(&queues.iter().map(queue).collect::<Vec<_>>()).map_err(|error| error.to_string())
    }

    #[test]
    fn valid_queues_are_accepted() {
        of(&[]).unwrap();
        // A child before its parent, shares whose sum has a rounding error, and a queue with a guaranteed share of 0.
        of(&[("a.b", 0.7, 1.0), ("a", 0.7, 0.9), ("c", 0.2, 0.2), ("d", 0.1, 1.0), ("a.c", 0.0, 0.5)]).unwrap();
        of(&[("default", 1.0, 1.0), ("default.default", 1.0, 1.0)]).unwrap();
    }

    #[test]
    fn invalid_queues_are_reported_with_their_entry() {
        for (queues, expected) in [
            (&[("a", 0.5, 1.0), ("a", 0.5, 1.0)][..], "entry 2 (\"a\"): entry 1 has the same name"),
            (&[("", 0.5, 1.0)], "entry 1 (\"\"): a name consists of"),
            (&[("a..b", 0.5, 1.0)], "a name consists of"),
            (&[("root.a", 0.5, 1.0)], "remove root from the name"),
            (&[("prod", 0.5, 1.0), ("prdo.x", 0.5, 1.0)], "is not a queue; did you mean \"prod\"?"),
            (&[("a", -0.1, 1.0)], "guaranteed is -0.1, but must be from 0 to 1"),
            (&[("a", f64::NAN, 1.0)], "guaranteed is NaN"),
            (&[("a", 0.0, 0.0)], "maximum is 0, but must be above 0"),
            (&[("a", 0.0, f64::INFINITY)], "maximum is inf"),
            (&[("a", 0.5, 0.4)], "must be at least the guaranteed share, 0.5"),
            (
                &[("a", 0.75, 1.0), ("b", 0.5, 1.0)],
                "entry 2 (\"b\"): its guaranteed share of 0.5 raises the sum for the top-level queues to 1.25",
            ),
            (
                &[("a", 0.5, 1.0), ("a.x", 0.75, 1.0), ("a.y", 0.5, 1.0)],
                "raises the sum for the queues below \"a\" to 1.25",
            ),
        ] {
            let error = of(queues).unwrap_err();
            assert!(error.contains(expected), "{error}, not {expected}");
        }
    }
}
