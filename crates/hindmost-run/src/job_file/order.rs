//! Sorts phases so that parents come before children.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Returns the phases in an order in which parents come first, and otherwise in the given order. `after` holds the parents
/// of each phase.
///
/// # Errors
/// A circle of phases: the parent of each is the next one, and the parent of the last is the first.
pub(super) fn parents_first(after: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut children = vec![Vec::new(); after.len()];
    let mut missing: Vec<usize> = after.iter().map(Vec::len).collect();
    for (at, parents) in after.iter().enumerate() {
        for parent in parents {
            children[*parent].push(at);
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> = (0..after.len()).filter(|at| missing[*at] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(after.len());
    while let Some(Reverse(at)) = ready.pop() {
        order.push(at);
        for child in &children[at] {
            missing[*child] -= 1;
            if missing[*child] == 0 {
                ready.push(Reverse(*child));
            }
        }
    }
    if order.len() == after.len() { Ok(order) } else { Err(circle(after, &missing)) }
}

/// Returns a circle of phases. `missing` counts for each phase the parents that could not be sorted. Each phase for which
/// it is above 0 has a parent for which it is above 0 too, so following these parents leads into a circle.
fn circle(after: &[Vec<usize>], missing: &[usize]) -> Vec<usize> {
    let stuck = |at: &usize| missing[*at] > 0;
    let mut path: Vec<usize> = (0..after.len()).find(stuck).into_iter().collect();
    let mut step = vec![usize::MAX; after.len()];
    while let Some(last) = path.last().copied() {
        step[last] = path.len() - 1;
        let Some(parent) = after[last].iter().copied().find(stuck) else { break };
        if step[parent] != usize::MAX {
            return path.split_off(step[parent]);
        }
        path.push(parent);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_given_order_is_kept_if_parents_allow_it() {
        assert_eq!(parents_first(&[vec![], vec![], vec![]]), Ok(vec![0, 1, 2]));
        assert_eq!(parents_first(&[vec![2], vec![], vec![]]), Ok(vec![1, 2, 0]));
        assert_eq!(parents_first(&[vec![1], vec![2], vec![], vec![]]), Ok(vec![2, 1, 0, 3]));
        assert_eq!(parents_first(&[]), Ok(vec![]));
    }

    #[test]
    fn a_circle_is_returned_without_its_descendants() {
        assert_eq!(parents_first(&[vec![0]]), Err(vec![0]));
        assert_eq!(parents_first(&[vec![1], vec![2], vec![1]]), Err(vec![1, 2]));
        assert_eq!(parents_first(&[vec![], vec![0, 3], vec![1], vec![2]]), Err(vec![1, 3, 2]));
    }
}
