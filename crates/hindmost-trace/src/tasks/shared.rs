//! The slots that several jobs of a log share: how many of them are left for each job.

use rustc_hash::FxHashMap;

use super::collect::{Application, Held};
use crate::diagnosis::most_slots;

/// More changes than this are replaced by means over so many parts of a job's time.
const MOST_CHANGES: usize = 20_000;

/// The clusters on which the jobs of a log run. Jobs share a cluster if they share a node, directly or through others.
#[derive(Debug, Default)]
pub(super) struct Shared {
    clusters: Vec<Cluster>,
    /// The cluster of each application.
    of_applications: FxHashMap<u32, usize>,
}

#[derive(Debug, Default)]
struct Cluster {
    applications: usize,
    /// The most slots that were used at the same time.
    slots: i32,
    /// Starts and ends of all attempts, ascending.
    changes: Vec<(f64, i32)>,
}

fn changes(rows: &[Held]) -> impl Iterator<Item = (f64, i32)> {
    rows.iter().filter_map(Held::times).flat_map(|(start, end)| [(start, 1), (end, -1)])
}

fn sort(changes: &mut [(f64, i32)]) {
    // At the same instant, ends count before starts.
    changes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
}

/// Returns the representative of a set, and shortens the way to it.
fn representative(parents: &mut FxHashMap<u32, u32>, of: u32) -> u32 {
    let mut root = of;
    while let Some(parent) = parents.get(&root).copied().filter(|parent| *parent != root) {
        root = parent;
    }
    parents.insert(of, root);
    root
}

impl Shared {
    /// Finds the clusters of applications.
    pub(super) fn of(open: &FxHashMap<u32, Application>) -> Shared {
        let mut nodes: FxHashMap<u32, u32> = FxHashMap::default();
        for application in open.values() {
            let Some(first) = application.rows.first() else { continue };
            let first = representative(&mut nodes, first.node);
            for row in &application.rows {
                let other = representative(&mut nodes, row.node);
                nodes.insert(other, first);
            }
        }
        let mut shared = Shared::default();
        let mut numbers: FxHashMap<u32, usize> = FxHashMap::default();
        let mut all: Vec<(&u32, &Application)> = open.iter().filter(|(_, one)| !one.rows.is_empty()).collect();
        all.sort_unstable_by_key(|(number, _)| **number);
        for (number, application) in all {
            let root = representative(&mut nodes, application.rows[0].node);
            let next = shared.clusters.len();
            let at = *numbers.entry(root).or_insert(next);
            if at == next {
                shared.clusters.push(Cluster::default());
            }
            let cluster = &mut shared.clusters[at];
            cluster.applications += 1;
            cluster.changes.extend(changes(&application.rows));
            shared.of_applications.insert(*number, at);
        }
        for cluster in &mut shared.clusters {
            if cluster.applications == 1 {
                cluster.changes = Vec::new();
                continue;
            }
            sort(&mut cluster.changes);
            cluster.slots = most_slots(&cluster.changes);
        }
        shared
    }

    /// Returns how many slots were left for an application: the number at its begin and all later changes. Empty if it had its cluster alone.
    pub(super) fn left_for(&self, number: u32, application: &Application) -> Vec<(f64, i32)> {
        let cluster = self.of_applications.get(&number).map(|at| &self.clusters[*at]);
        let Some(cluster) = cluster.filter(|cluster| cluster.applications > 1) else { return Vec::new() };
        let mut own: Vec<(f64, i32)> = changes(&application.rows).collect();
        sort(&mut own);
        let submitted = application.rows.iter().map(|row| row.submitted).filter(|at| !at.is_nan());
        let Some((first, last)) = own.first().zip(own.last()).map(|(first, last)| (first.0, last.0)) else {
            return Vec::new();
        };
        let from = submitted.fold(first, f64::min);
        let (before, during) = cluster.changes.split_at(cluster.changes.partition_point(|(at, _)| *at <= from));
        let during = &during[..during.partition_point(|(at, _)| *at <= last)];
        // What is not the application's own is of others.
        let mut own = own.into_iter().peekable();
        let mut is_of_others = |change: &&(f64, i32)| own.next_if(|one| one == *change).is_none();
        let others_at_begin: i32 = before.iter().filter(&mut is_of_others).map(|(_, by)| by).sum();
        let others: Vec<(f64, i32)> = during.iter().filter(is_of_others).copied().collect();
        let mut left = vec![(from, cluster.slots - others_at_begin)];
        if others.len() <= MOST_CHANGES {
            left.extend(others.into_iter().map(|(at, by)| (at, -by)));
        } else {
            means(others_at_begin, &others, (from, last), &mut left);
        }
        left
    }
}

/// Adds the changes of the mean number of slots that others left in each part of a time. `left` has the number at its begin.
fn means(running: i32, others: &[(f64, i32)], (from, to): (f64, f64), left: &mut Vec<(f64, i32)>) {
    let width = (to - from) / MOST_CHANGES as f64;
    let (mut running, mut shown) = (running, running);
    let mut changes = others.iter().peekable();
    for part in 0..MOST_CHANGES {
        let (begin, end) = (from + width * part as f64, from + width * (part + 1) as f64);
        let (mut area, mut now) = (0.0, begin);
        while let Some((at, by)) = changes.next_if(|(at, _)| *at < end) {
            area += f64::from(running) * (at - now);
            (running, now) = (running + by, *at);
        }
        area += f64::from(running) * (end - now);
        let mean = (area / width).round() as i32;
        if mean != shown {
            left.push((begin, shown - mean));
            shown = mean;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_follow_the_changes() {
        let others: Vec<(f64, i32)> = (0..50_000).map(|at| (f64::from(at), if at % 2 == 0 { 1 } else { -1 })).collect();
        let mut left = vec![(0.0, 4)];
        means(1, &others, (0.0, 50_000.0), &mut left);
        // One all the time, and another half of the time.
        let mut slots = 0;
        for (_, by) in &left {
            slots += by;
            assert!((2..=4).contains(&slots), "{slots}");
        }
        assert!(left.len() <= MOST_CHANGES + 1);
    }
}
