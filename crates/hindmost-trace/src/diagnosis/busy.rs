//! Nodes that were busy for a time: whether other tasks on the node of an attempt were slow when it ran.
//!
//! A few slow tasks in a row prove little where durations are spread: they happen by chance. A busy node makes all its tasks slower. So the
//! least slow of the tasks of a time is compared with the tasks of other times and nodes: the chance that all tasks of the time, or most of
//! them, are at least as slow must be small. Where fewer than three others ran at the time, as on nodes with one or two slots, those just
//! before and after it count too.

use std::borrow::Cow;
use std::cell::{LazyCell, OnceCell};

use hindmost_math::statistics::{at_least, median, quantile};

use super::context::{BUSY, Context};
use super::neighbours::{Neighbour, Neighbours};
use crate::recording::AttemptRow;

/// Fewest other tasks that can show that a node was busy.
const FEWEST: usize = 3;
/// Most tasks before the time of an attempt that count too, and most after it.
const MOST_AROUND: usize = 4;
/// How far away these may be, in multiples of the attempt's duration.
const AROUND: f64 = 2.0;
/// The chance that a node seems to be busy at the time of an attempt although it is as usual.
const LEVEL: f64 = 0.005;
/// Number of tasks in a row that show when a node was busy.
const GROUP: usize = 8;
/// How many times the standard error the middle of such a group must differ.
const FAR: f64 = 3.0;
/// The most that a busy node is taken to slow its tasks down. Groups of tasks that differ by more differ in their work.
const MOST_BUSY: f64 = 4.0;

impl Neighbours {
    /// Collects the winners of an application whose inputs and slow nodes are known.
    pub fn of(context: &Context<'_>) -> Neighbours {
        let mut all = Vec::new();
        for (phase, _, row, slowness) in
            context.winners().filter(|(phase, number, ..)| !context.is_cold(*phase, *number))
        {
            let Some(machine) = context.machine(row) else { continue };
            let of_node = context.slowness_of_node(row).map_or(0.0, f64::ln);
            let slowness = slowness - context.by_input(phase, row) - of_node;
            all.push((machine, Neighbour { start: row.start, end: row.end, slowness }));
        }
        all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.start.total_cmp(&b.1.start)));
        Neighbours { all, by_start: OnceCell::new(), by_slowness: OnceCell::new() }
    }

    /// The winners on a machine, in the order of their starts.
    fn on(&self, machine: u32) -> &[(u32, Neighbour)] {
        let from = self.all.partition_point(|(other, _)| *other < machine);
        let until = self.all.partition_point(|(other, _)| *other <= machine);
        &self.all[from..until]
    }

    /// ln of the slowness of all, sorted, and its standard deviation from the middle of its distribution.
    fn by_slowness(&self) -> &(Vec<f64>, f64) {
        self.by_slowness.get_or_init(|| {
            let mut all: Vec<f64> = self.all.iter().map(|(_, one)| one.slowness).collect();
            all.sort_unstable_by(f64::total_cmp);
            let mut distances: Vec<f64> = all.iter().map(|slowness| slowness.abs()).collect();
            // The median distance from the middle of a normal distribution is 0.6745 standard deviations.
            let spread = quantile(&mut distances, 0.5).unwrap_or(0.0) / 0.6745;
            (all, spread)
        })
    }

    /// The winners that ran on a machine mostly within a time.
    fn within(&self, machine: u32, time: (f64, f64)) -> impl Iterator<Item = &Neighbour> {
        within(self.on(machine), time).map(|(_, one)| one)
    }

    /// The middle of ln of the slowness of winners that ran on other machines mostly within a time; `None` if too few did.
    fn elsewhere(&self, machine: u32, time: (f64, f64)) -> Option<f64> {
        let by_start = self.by_start.get_or_init(|| {
            let mut all = self.all.clone();
            all.sort_unstable_by(|a, b| a.1.start.total_cmp(&b.1.start));
            all
        });
        let others = within(by_start, time).filter(|(other, _)| *other != machine);
        let mut slowness: Vec<f64> = others.map(|(_, one)| one.slowness).collect();
        (slowness.len() >= FEWEST).then(|| median(&mut slowness))?
    }

    /// For each of some winners, the chance that one of the others is at least as slow.
    fn chances(&self, of: &[Neighbour]) -> Vec<f64> {
        let mut own: Vec<f64> = of.iter().map(|one| one.slowness).collect();
        own.sort_by(f64::total_cmp);
        let from = |sorted: &[f64], slowness: f64| sorted.len() - sorted.partition_point(|one| *one < slowness);
        let (all, _) = self.by_slowness();
        let others = all.len().saturating_sub(own.len());
        let chance = |slowness| {
            let as_slow = from(all, slowness).saturating_sub(from(&own, slowness));
            (as_slow + 1) as f64 / (others + 1) as f64
        };
        of.iter().map(|one| chance(one.slowness)).collect()
    }
}

/// The winners, in the order of their starts, that ran mostly within a time.
fn within(rows: &[(u32, Neighbour)], (from, to): (f64, f64)) -> impl Iterator<Item = &(u32, Neighbour)> {
    // One that is mostly within the time takes less than twice as long.
    let first = rows.partition_point(|(_, one)| one.start < from - (to - from));
    let last = rows.partition_point(|(_, one)| one.start < to);
    rows[first..last.max(first)].iter().filter(move |(_, one)| one.overlap(from, to) > 0.5 * (one.end - one.start))
}

/// The chance that all tasks, or at least three quarters or half of them, are as slow as they are, where there is the chance that one is.
fn chance_of_all(chances: &mut [f64]) -> f64 {
    chances.sort_by(|a, b| b.total_cmp(a));
    let count = chances.len();
    let of = |left_out: usize| at_least((count - left_out) as u64, count as u64, chances[left_out]);
    let mut left_out = vec![0, count / 4, count / 2];
    left_out.dedup();
    left_out.iter().map(|left_out| of(*left_out)).fold(1.0, f64::min) * left_out.len() as f64
}

impl Neighbour {
    fn overlap(&self, from: f64, to: f64) -> f64 {
        self.end.min(to) - self.start.max(from)
    }
}

impl Context<'_> {
    fn neighbours(&self) -> &Neighbours {
        self.neighbours.get_or_init(|| Neighbours::of(self))
    }

    /// The other winners that ran on the node of an attempt mostly within a time, in the order of their starts.
    pub fn beside(&self, row: &AttemptRow, time: (f64, f64)) -> Vec<Neighbour> {
        let Some(machine) = self.machine(row) else { return Vec::new() };
        let mut is_found = false;
        // Another one may have the same times.
        let mut is_other = |one: &&Neighbour| {
            let is_itself = !is_found && (one.start, one.end) == (row.start, row.end);
            is_found |= is_itself;
            !is_itself
        };
        self.neighbours().within(machine, time).filter(|one| is_other(one)).copied().collect()
    }

    /// ln of how many times as long other tasks took on the node of an attempt at its time, if chance hardly gives that, and if tasks
    /// elsewhere were not as slow then. `beside` are the other tasks there mostly at its time.
    pub fn busy(&self, row: &AttemptRow, beside: &[Neighbour]) -> Option<f64> {
        let machine = self.machine(row)?;
        let (tasks, windows) = self.windows(row, beside);
        let chances = LazyCell::new(|| self.neighbours().chances(&tasks));
        let tests = windows.len() as f64;
        let shown = |(from, to): (usize, usize)| {
            let slowness = median(&mut tasks[from..to].iter().map(|one| one.slowness).collect::<Vec<f64>>());
            let slowness = slowness.filter(|slowness| *slowness >= BUSY)?;
            let chance = chance_of_all(&mut chances[from..to].to_vec()) * tests;
            (chance < LEVEL).then_some((chance, slowness, (from, to)))
        };
        let (_, slowness, (from, to)) =
            windows.into_iter().filter_map(shown).min_by(|one, other| one.0.total_cmp(&other.0))?;
        let start = tasks[from..to].iter().map(|one| one.start).fold(row.start, f64::min);
        let end = tasks[from..to].iter().map(|one| one.end).fold(row.end, f64::max);
        let elsewhere = self.neighbours().elsewhere(machine, (start, end));
        elsewhere.is_none_or(|elsewhere| elsewhere < slowness / 2.0).then_some(slowness)
    }

    /// Other tasks on the node of an attempt, and the ranges of them that may show whether it was busy: those at the time of the attempt
    /// if they are enough, or else these and some before and after it.
    fn windows<'b>(&self, row: &AttemptRow, beside: &'b [Neighbour]) -> (Cow<'b, [Neighbour]>, Vec<(usize, usize)>) {
        if beside.len() >= FEWEST {
            return (Cow::Borrowed(beside), vec![(0, beside.len())]);
        }
        let far = AROUND * row.seconds();
        let tasks = self.beside(row, (row.start - far, row.end + far));
        let is_at_its_time = |one: &Neighbour| one.overlap(row.start, row.end) > 0.5 * (one.end - one.start);
        let between = tasks.partition_point(|one| one.start < row.start);
        let first = tasks.iter().position(is_at_its_time).unwrap_or(between);
        let last = tasks.iter().rposition(is_at_its_time).map_or(first, |last| last + 1);
        let ends = last..=tasks.len().min(last + MOST_AROUND);
        let windows =
            (first.saturating_sub(MOST_AROUND)..=first).flat_map(|from| ends.clone().map(move |to| (from, to)));
        let windows = windows.filter(|(from, to)| to - from >= FEWEST).collect();
        (Cow::Owned(tasks), windows)
    }

    /// When the node of an executor was busy: from, until, and how many times as long attempts took then. Tasks are looked at in
    /// groups of eight that started there one after the other. A group shows a busy node if its median is far above what chance
    /// gives.
    pub fn busy_times(&self, executor: u32) -> Vec<(f64, f64, f64)> {
        let neighbours = self.neighbours();
        let rows = self.machine_of(executor).map_or(&[][..], |machine| neighbours.on(machine));
        // The standard error of the median of normal values with the spread of all tasks.
        let by_chance = 1.25 * neighbours.by_slowness().1 / (GROUP as f64).sqrt();
        let busy = rows.chunks_exact(GROUP).filter_map(|group| {
            let median = quantile(&mut group.iter().map(|(_, one)| one.slowness).collect::<Vec<f64>>(), 0.5)?;
            let is_busy = median >= FAR * by_chance.max(BUSY / 2.0);
            is_busy.then(|| (group[0].1.start, group[GROUP - 1].1.start, median.exp().min(MOST_BUSY)))
        });
        busy.collect()
    }
}

#[cfg(test)]
mod tests {
    use hindmost_core::metrics::Cause;

    use super::chance_of_all;
    use crate::testing::{executor, phase, recording, row};

    /// Tasks on nodes of some slots, of which node 3 is `factor` times as slow between 20 s and 60 s. `seconds` returns how long a
    /// task takes elsewhere. Returns the number of stragglers, and of those that a busy node explains.
    fn stragglers(slots: u32, tasks: u32, factor: f64, seconds: impl Fn(u32) -> f64) -> (u64, u64) {
        let mut free: Vec<(f64, u32)> = (0..8 * slots).map(|slot| (0.0, slot % 8)).collect();
        let of_task = |task: u32| {
            let next = (0..free.len()).min_by(|a, b| free[*a].0.total_cmp(&free[*b].0)).unwrap();
            let (start, node) = free[next];
            let is_slow = node == 3 && start > 20.0 && start < 60.0;
            free[next].0 = start + seconds(task) * if is_slow { factor } else { 1.0 };
            row(task, node, start, free[next].0)
        };
        let rows = (0..tasks).map(of_task).collect();
        let executors = (0..8).map(|number| executor(&format!("h{number}"), slots)).collect();
        let found = super::super::diagnose(&recording(vec![phase(rows)], executors));
        assert!(found.slow_nodes.is_empty());
        let busy = found.stragglers.causes.iter().find(|one| one.cause == Cause::BusyNode);
        (found.stragglers.tasks, busy.map_or(0, |one| one.tasks))
    }

    /// Durations of about 4 s that differ a little.
    fn alike(task: u32) -> f64 {
        4.0 + 0.1 * f64::from(task * 7 % 11)
    }

    #[test]
    fn a_busy_node_of_one_slot_or_two_is_seen_by_the_tasks_around() {
        let (stragglers_of_one, busy) = stragglers(1, 200, 2.0, alike);
        assert!(stragglers_of_one >= 4 && 2 * busy > stragglers_of_one, "{busy} of {stragglers_of_one}");
        let (stragglers_of_two, busy) = stragglers(2, 400, 2.0, alike);
        assert!(stragglers_of_two >= 8 && 10 * busy > 8 * stragglers_of_two, "{busy} of {stragglers_of_two}");
        assert_eq!(stragglers(2, 400, 1.0, alike), (0, 0));
    }

    #[test]
    fn chance_makes_no_busy_node() {
        // Every seventh task in a random order takes five times as long; or durations differ widely.
        let random = |task: u32| f64::from((task.wrapping_mul(2_654_435_761) >> 8) % 1000) / 1000.0;
        for slots in [1, 2, 4, 8] {
            let (all, busy) = stragglers(slots, 200 * slots, 1.0, |task| if random(task) < 0.14 { 20.0 } else { 4.0 });
            assert!(all > 20 && 50 * busy <= all, "{slots} slots: {busy} of {all}");
            let (all, busy) = stragglers(slots, 200 * slots, 1.0, |task| 2.0 * (1.0 - random(task)).powf(-0.7));
            assert!(all > 20 && 50 * busy <= all, "{slots} slots: {busy} of {all}");
        }
    }

    #[test]
    fn a_node_is_not_busy_while_all_are() {
        // The larger tasks are next to one another in the list.
        let (all, busy) =
            stragglers(2, 400, 1.0, |task| alike(task) * if (150..250).contains(&task) { 3.0 } else { 1.0 });
        assert!(all >= 90 && busy == 0, "{busy} of {all}");
    }

    #[test]
    fn the_chance_is_that_of_all_or_most_being_so_slow() {
        // All three among the slowest tenth, or three of four among the slowest fifth; three ways to be slow are tried.
        assert!((chance_of_all(&mut [0.1, 0.05, 0.1]) - 2.0 * 0.001).abs() < 1e-12);
        let three_of_four = 4.0 * 0.2_f64.powi(3) * 0.8 + 0.2_f64.powi(4);
        assert!((chance_of_all(&mut [0.2, 0.9, 0.2, 0.2]) - 3.0 * three_of_four).abs() < 1e-12);
    }
}
