//! Phases by name: their dependencies, and the order in which they are numbered.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::names::check_name;
use hindmost_math::plain::Quoted;
use hindmost_math::suggest::did_you_mean;

/// The name of a phase, and the names of the phases that must be finished first.
pub(crate) type Named<'a> = (&'a str, &'a [String]);

/// Returns the indices of the phases in the given order, except that parents come before their children.
///
/// # Errors
/// If a name is blank or has control characters, two phases have the same name, a parent does not exist, or the
/// dependencies form a cycle.
pub(crate) fn parents_first(phases: &[Named<'_>]) -> Result<Vec<usize>, String> {
    let mut places = BTreeMap::new();
    for (at, (name, _)) in phases.iter().enumerate() {
        check_name(name).map_err(|error| format!("the name of phase {}, {}, {error}", at + 1, Quoted(name)))?;
        if places.insert(*name, at).is_some() {
            return Err(format!("two phases are called {name:?}"));
        }
    }
    let mut children = vec![Vec::new(); phases.len()];
    let mut waits_for = vec![0usize; phases.len()];
    for (at, (name, after)) in phases.iter().enumerate() {
        for parent in *after {
            let Some(parent) = places.get(parent.as_str()) else {
                let near = did_you_mean(parent, phases.iter().map(|(other, _)| *other));
                return Err(format!("phase {name:?} comes after {parent:?}, which is not a phase of the job{near}"));
            };
            children[*parent].push(at);
            waits_for[at] += 1;
        }
    }
    let mut ready: BTreeSet<usize> = (0..phases.len()).filter(|at| waits_for[*at] == 0).collect();
    let mut order = Vec::with_capacity(phases.len());
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for child in &children[at] {
            waits_for[*child] -= 1;
            if waits_for[*child] == 0 {
                ready.insert(*child);
            }
        }
    }
    if order.len() == phases.len() { Ok(order) } else { Err("its phases depend on each other in a cycle".to_owned()) }
}
