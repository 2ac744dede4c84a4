//! The other attempts of a phase with which a straggler is compared: those of its task, of its wave, and those that were stopped. They are
//! looked up once for a phase, which may have hundreds of thousands of attempts and tens of thousands of stragglers.

use std::cell::OnceCell;

use hindmost_math::without::median_without;
use rustc_hash::FxHashMap;

use super::context::{Context, Wave, slowness};
use crate::recording::AttemptRow;
use crate::recording::Ended;

/// ln of the slowness of the winners of a wave.
struct OfWave {
    /// Sorted.
    all: Vec<f64>,
    /// Their executors, ascending, and the same, sorted for each executor.
    executors: Vec<u32>,
    by_executor: Vec<f64>,
}

impl OfWave {
    /// Of winners that are sorted by executor and slowness.
    fn of(winners: &[(u32, u32, f64)]) -> OfWave {
        let (executors, by_executor): (Vec<u32>, Vec<f64>) =
            winners.iter().map(|(_, executor, slowness)| (*executor, *slowness)).unzip();
        let mut all = by_executor.clone();
        all.sort_unstable_by(f64::total_cmp);
        OfWave { all, executors, by_executor }
    }

    fn on(&self, executor: u32) -> &[f64] {
        let from = self.executors.partition_point(|other| *other < executor);
        let until = self.executors.partition_point(|other| *other <= executor);
        &self.by_executor[from..until]
    }
}

/// The attempts of a phase by what they have in common.
pub(super) struct Others<'a> {
    context: &'a Context<'a>,
    /// The phase.
    at: usize,
    /// The numbers of the attempts of tasks that have one that did not win, as all with several attempts do.
    by_task: OnceCell<FxHashMap<u32, Vec<usize>>>,
    /// The winners by wave.
    waves: OnceCell<Box<[OfWave; Wave::COUNT as usize]>>,
    /// Attempts that were killed and did not win, with the end of the winner of their task.
    stopped: OnceCell<Vec<(&'a AttemptRow, f64)>>,
}

impl<'a> Others<'a> {
    pub(super) fn new(context: &'a Context<'a>, at: usize) -> Others<'a> {
        Others { context, at, by_task: OnceCell::new(), waves: OnceCell::new(), stopped: OnceCell::new() }
    }

    fn rows(&self) -> &'a [AttemptRow] {
        &self.context.recording.phases[self.at].rows
    }

    fn by_task(&self) -> &FxHashMap<u32, Vec<usize>> {
        self.by_task.get_or_init(|| {
            let others = self.rows().iter().filter(|row| !row.wins);
            let mut several: FxHashMap<u32, Vec<usize>> = others.map(|row| (row.task, Vec::new())).collect();
            for (number, row) in self.rows().iter().enumerate() {
                if let Some(numbers) = several.get_mut(&row.task) {
                    numbers.push(number);
                }
            }
            several
        })
    }

    /// The other attempts of the task of an attempt, with their numbers.
    pub(super) fn of_task(&self, number: usize) -> impl Iterator<Item = (usize, &'a AttemptRow)> {
        let rows = self.rows();
        let all = self.by_task().get(&rows[number].task).map_or(&[][..], Vec::as_slice);
        all.iter().filter(move |other| **other != number).map(|other| (*other, &rows[*other]))
    }

    /// ln of the slowness, in the middle, of the winners of other tasks in the wave of an attempt, and of those of them on its
    /// executor; `None` for those that there are none of. Also how many there are in the wave.
    pub(super) fn in_wave(&self, number: usize, typical: f64) -> (usize, Option<f64>, Option<f64>) {
        let (context, rows) = (self.context, self.rows());
        let waves = self.waves.get_or_init(|| {
            let mut winners = Vec::with_capacity(rows.len());
            winners.extend(rows.iter().enumerate().filter(|(_, row)| row.wins).map(|(other, row)| {
                (context.wave(self.at, other).number(), row.executor, slowness(row.seconds(), typical))
            }));
            winners.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
            Box::new(std::array::from_fn(|wave| {
                let wave = wave as u32;
                let from = winners.partition_point(|(other, ..)| *other < wave);
                OfWave::of(&winners[from..winners.partition_point(|(other, ..)| *other <= wave)])
            }))
        });
        let wave = context.wave(self.at, number);
        let executor = rows[number].executor;
        let of_task = self.of_task(number).chain([(number, &rows[number])]);
        let own = of_task.filter(|(other, one)| one.wins && context.wave(self.at, *other) == wave);
        let mut own: Vec<(u32, f64)> = own.map(|(_, one)| (one.executor, slowness(one.seconds(), typical))).collect();
        own.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
        let here: Vec<f64> = own.iter().filter(|(of, _)| *of == executor).map(|(_, slowness)| *slowness).collect();
        let all: Vec<f64> = own.into_iter().map(|(_, slowness)| slowness).collect();
        let wave = &waves[wave.number() as usize];
        (wave.all.len() - all.len(), median_without(&wave.all, &all), median_without(wave.on(executor), &here))
    }

    /// Attempts that were killed, and did not win, with the end of the winner of their task.
    pub(super) fn stopped(&self) -> &[(&'a AttemptRow, f64)] {
        self.stopped.get_or_init(|| {
            let rows = self.rows().iter().enumerate();
            let killed = rows.filter(|(_, row)| !row.wins && row.ended == Ended::Killed);
            let with_winner = killed.filter_map(|(number, row)| {
                let winner = self.of_task(number).find(|(_, one)| one.wins)?.1;
                Some((row, winner.end))
            });
            with_winner.collect()
        })
    }
}
