//! The slots that several jobs of a log share: how many of them are left for each job.

use rustc_hash::FxHashMap;

use super::held::{Application, Held};
use crate::diagnosis::{Area, most_slots, slots_that_join};

/// Changes of the number of slots of all jobs together, about. The more jobs there are, the fewer are kept for each.
const CHANGES_OF_ALL: usize = 4_000_000;
/// Fewest and most changes of a job. If others change the number more often, means over so many parts of the job's time replace them.
const CHANGES: [usize; 2] = [50, 20_000];

/// The most attempts of a cluster whose nodes may join: more would need much memory.
const MOST_ROWS_THAT_JOIN: usize = 1_000_000;

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
    /// How many attempts they have.
    rows: usize,
    /// The most slots that were used at the same time, and when they were there: the number from the first attempt on, and its changes.
    slots: i32,
    there: Vec<(f64, i32)>,
    /// Starts and ends of all attempts, ascending.
    changes: Vec<Change>,
    /// The slots in use over time.
    used: Area,
}

/// A start or an end of an attempt: when it was, the change of the number of slots in use, and the number of the application.
type Change = (f64, i32, u32);

fn changes(number: u32, rows: &[Held]) -> impl Iterator<Item = Change> {
    rows.iter().filter_map(Held::times).flat_map(move |(start, end)| [(start, 1, number), (end, -1, number)])
}

fn sort(changes: &mut [Change]) {
    // At the same instant, ends count before starts.
    changes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
}

/// Sets of nodes. A node that is not known counts as one.
struct Sets(Vec<u32>);

impl Sets {
    /// The place of a node: itself, or the place after all others.
    fn place(&self, node: u32) -> u32 {
        node.min(self.0.len() as u32 - 1)
    }

    /// Returns the representative of the set of a node, and shortens the way to it.
    fn representative(&mut self, node: u32) -> u32 {
        let of = self.place(node);
        let mut root = of;
        while self.0[root as usize] != root {
            root = self.0[root as usize];
        }
        self.0[of as usize] = root;
        root
    }
}

impl Shared {
    /// Finds the clusters of applications.
    pub(super) fn of(open: &FxHashMap<u32, Application>, nodes: usize) -> Shared {
        let mut nodes = Sets((0..=nodes as u32).collect());
        for application in open.values() {
            let Some(first) = application.rows.first() else { continue };
            let first = nodes.representative(first.node);
            for row in &application.rows {
                let other = nodes.representative(row.node);
                nodes.0[other as usize] = first;
            }
        }
        let mut shared = Shared::default();
        let mut numbers: FxHashMap<u32, usize> = FxHashMap::default();
        let mut all: Vec<(&u32, &Application)> = open.iter().filter(|(_, one)| !one.rows.is_empty()).collect();
        all.sort_unstable_by_key(|(number, _)| **number);
        for (number, application) in all {
            let root = nodes.representative(application.rows[0].node);
            let next = shared.clusters.len();
            let at = *numbers.entry(root).or_insert(next);
            if at == next {
                shared.clusters.push(Cluster::default());
            }
            shared.clusters[at].applications += 1;
            shared.clusters[at].rows += application.rows.len();
            shared.of_applications.insert(*number, at);
        }
        for (number, at) in &shared.of_applications {
            let cluster = &mut shared.clusters[*at];
            // There may be a million changes, for which a growing list would take twice the memory.
            if cluster.applications > 1 {
                cluster.changes.reserve_exact((2 * cluster.rows).saturating_sub(cluster.changes.len()));
                cluster.changes.extend(changes(*number, &open[number].rows));
            }
        }
        for cluster in shared.clusters.iter_mut().filter(|cluster| cluster.applications > 1) {
            sort(&mut cluster.changes);
            cluster.slots = most_slots(cluster.changes.iter().map(|(at, by, _)| (*at, i64::from(*by))));
            cluster.used = area(cluster.changes.iter());
        }
        shared.find_joins(open);
        shared
    }

    /// Finds the nodes that joined while jobs ran, in clusters that are small enough for it.
    fn find_joins(&mut self, open: &FxHashMap<u32, Application>) {
        let mut of_clusters: Vec<Vec<u32>> = vec![Vec::new(); self.clusters.len()];
        for (number, at) in &self.of_applications {
            of_clusters[*at].push(*number);
        }
        for (cluster, mut numbers) in self.clusters.iter_mut().zip(of_clusters) {
            cluster.there = vec![(f64::NEG_INFINITY, cluster.slots)];
            let Some((from, ..)) = cluster.changes.first().copied().filter(|_| cluster.rows <= MOST_ROWS_THAT_JOIN)
            else {
                continue;
            };
            numbers.sort_unstable();
            let rows = || numbers.iter().flat_map(|number| &open[number].rows);
            let attempts = rows().filter_map(|row| row.times().map(|(start, end)| (row.node, start, end)));
            let waits = || numbers.iter().flat_map(|number| waits(&open[number].rows)).collect();
            let joins = slots_that_join(attempts, || &cluster.used, waits, (from, i64::from(cluster.slots)));
            cluster.there = joins.into_iter().map(|(at, by)| (at, i32::try_from(by).unwrap_or(0))).collect();
            cluster.there[0].0 = f64::NEG_INFINITY;
        }
    }

    /// Returns how many slots were left for an application: the number at its begin and all later changes. Empty if it had its
    /// cluster alone.
    pub(super) fn left_for(&self, number: u32, application: &Application) -> Vec<(f64, i32)> {
        let cluster = self.of_applications.get(&number).map(|at| &self.clusters[*at]);
        let Some(cluster) = cluster.filter(|cluster| cluster.applications > 1) else { return Vec::new() };
        let times = || application.rows.iter().filter_map(Held::times);
        let submitted = application.rows.iter().map(|row| row.submitted).filter(|at| !at.is_nan());
        let first = times().map(|(start, _)| start).fold(f64::INFINITY, f64::min);
        let last = times().map(|(_, end)| end).fold(f64::NEG_INFINITY, f64::max);
        if first > last {
            return Vec::new();
        }
        let from = submitted.fold(first, f64::min);
        let place = |time: f64| cluster.changes.partition_point(|(at, ..)| *at <= time);
        let (before, during) = cluster.changes[..place(last)].split_at(place(from));
        let is_own = |change: &&Change| change.2 == number;
        let at_begin = &before[before.partition_point(|(at, ..)| *at < first)..];
        let most = (CHANGES_OF_ALL / cluster.applications).clamp(CHANGES[0], CHANGES[1]);
        if during.len() > 2 * times().count() + most && last > from {
            let own: Vec<&Change> = at_begin.iter().chain(during).filter(is_own).collect();
            return means((&cluster.used, &area(own.into_iter())), (from, last), most, &cluster.there);
        }
        // What is not the application's own is of others.
        let own_at_begin: i32 = at_begin.iter().filter(is_own).map(|(_, by, _)| by).sum();
        let others_at_begin = cluster.used.after(before.len()) as i32 - own_at_begin;
        let others = during.iter().filter(|change| !is_own(change)).map(|(at, by, _)| (*at, -by));
        let joins = cluster.there.iter().filter(|(at, _)| *at > from && *at <= last).copied();
        let mut left = Vec::with_capacity(1 + during.len());
        left.push((from, slots_at(&cluster.there, from) - others_at_begin));
        left.extend(others.chain(joins));
        left[1..].sort_by(|a, b| a.0.total_cmp(&b.0));
        // Many of them wait for a diagnosis.
        left.shrink_to_fit();
        left
    }
}

fn area<'c>(changes: impl ExactSizeIterator<Item = &'c Change>) -> Area {
    Area::of_sorted(changes.map(|(at, by, _)| (*at, f64::from(*by))))
}

/// Slots that are there at a time.
fn slots_at(there: &[(f64, i32)], time: f64) -> i32 {
    there.iter().take_while(|(at, _)| *at <= time).map(|(_, by)| by).sum()
}

/// Returns from when until when the tasks of an application waited. Where the log does not say from when a task did, it is the first start
/// in its phase.
fn waits(rows: &[Held]) -> Vec<(f64, f64)> {
    let mut begins: FxHashMap<(u32, u32), f64> = FxHashMap::default();
    for row in rows.iter().filter(|row| row.submitted.is_nan() && !row.start.is_nan()) {
        let begin = begins.entry((row.job, row.phase)).or_insert(row.start);
        *begin = begin.min(row.start);
    }
    let ready = |row: &Held| {
        if row.submitted.is_nan() { begins.get(&(row.job, row.phase)).copied() } else { Some(row.submitted) }
    };
    // A task that runs again has not waited since it was submitted.
    let mut first: FxHashMap<u64, (f64, f64)> = FxHashMap::default();
    for row in rows.iter().filter(|row| !row.start.is_nan()) {
        let Some(ready) = ready(row) else { continue };
        let found = first.entry(row.task).or_insert((ready, row.start));
        if row.start < found.1 {
            *found = (ready, row.start);
        }
    }
    first.into_values().collect()
}

/// Returns the mean number of slots that others left in each of `parts` parts of a time: the first one, and the changes.
fn means((all, own): (&Area, &Area), (from, to): (f64, f64), parts: usize, there: &[(f64, i32)]) -> Vec<(f64, i32)> {
    let width = (to - from) / parts as f64;
    let mut left: Vec<(f64, i32)> = Vec::new();
    let mut before = 0;
    let (mut all, mut own) = (all.until_later(from), own.until_later(from));
    let mut others_until = |at: f64| all(at) - own(at);
    let mut area = others_until(from);
    for part in 0..parts {
        let (begin, end) = (from + width * part as f64, from + width * (part + 1) as f64);
        let until_end = others_until(end);
        let now = slots_at(there, begin) - ((until_end - area) / width).round() as i32;
        area = until_end;
        if now != before || part == 0 {
            left.push((begin, now - before));
            before = now;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_follow_the_changes() {
        // Others use one slot all the time, and another one half of the time; the job uses one of four.
        let others = (0..50_000).map(|at| (f64::from(at), if at % 2 == 0 { 1 } else { -1 }, 1));
        let own = [(0.0, 1, 0), (50_000.0, -1, 0)];
        let mut all: Vec<Change> = others.chain([(0.0, 1, 2), (50_000.0, -1, 2)]).chain(own).collect();
        sort(&mut all);
        let left = means((&area(all.iter()), &area(own.iter())), (0.0, 50_000.0), 1000, &[(0.0, 4)]);
        let mut slots = 0;
        for (_, by) in &left {
            slots += by;
            assert!((2..=3).contains(&slots), "{slots}");
        }
        assert!(left.len() <= 1000);
    }
}
