//! The energy of one node and of the attempts on it.

use std::sync::Arc;

use hindmost_core::ids::AttemptId;
use hindmost_core::power::PowerModel;
use hindmost_core::time::Time;

/// An attempt that holds resources of the node.
#[derive(Clone, Debug)]
pub(super) struct Running {
    pub(super) id: AttemptId,
    pub(super) since: Time,
    /// Time for which it reads its input.
    pub(super) reading: Time,
    /// Busy cores, in thousandths.
    pub(super) cores: u64,
    /// Power of its memory accesses, watts.
    pub(super) memory_watts: f64,
    /// Energy of reading its whole input from other nodes, joules.
    pub(super) transfer: f64,
    pub(super) is_original: bool,
    /// True if a copy of its task has started later than it.
    pub(super) has_backup: bool,
    /// Energy of its [`Class`] when it began, joules.
    pub(super) before: f64,
}

/// Attempts with equally many busy cores. At any time they have the same power, so that one sum serves all of them: the
/// energy of an attempt is the sum at its end minus the sum at its begin.
#[derive(Clone, Debug)]
struct Class {
    /// Busy cores of each attempt, in thousandths.
    cores: u64,
    /// Number of attempts.
    count: u32,
    /// Processor power of the node with one of the attempts minus the power without it, now, watts.
    watts: f64,
    /// Processor energy of one attempt, had it run for as long as there are attempts of this class, joules.
    joules: f64,
}

/// Energy that a node has used, joules.
pub(super) struct Used {
    /// Energy of its idle power.
    pub(super) idle: f64,
    /// Dynamic energy that is not the energy of an attempt.
    pub(super) remainder: f64,
    /// All energy.
    pub(super) total: f64,
}

/// Adds up the energy of a node.
pub(super) struct NodeMeter {
    model: Arc<PowerModel>,
    idle_watts: f64,
    is_up: bool,
    /// Up to this time the energy has been added.
    now: Time,
    /// Time for which the node was not lost.
    up_time: Time,
    /// Busy cores of all attempts, in thousandths, so that their sum has no rounding error.
    busy: u64,
    /// Processor power above the idle power, watts.
    watts: f64,
    /// Processor energy above the idle energy, joules.
    joules: f64,
    /// Processor energy of the attempts that have ended, joules.
    of_attempts: f64,
    /// Energy of the memory accesses and transfers of the attempts that have ended, joules.
    linear: f64,
    classes: Vec<Class>,
    running: Vec<Running>,
}

impl NodeMeter {
    pub(super) fn new(model: Arc<PowerModel>) -> NodeMeter {
        NodeMeter {
            idle_watts: model.idle_watts(),
            model,
            is_up: true,
            now: Time::ZERO,
            up_time: Time::ZERO,
            busy: 0,
            watts: 0.0,
            joules: 0.0,
            of_attempts: 0.0,
            linear: 0.0,
            classes: Vec::new(),
            running: Vec::new(),
        }
    }

    pub(super) fn model(&self) -> &PowerModel {
        &self.model
    }

    /// Adds the energy up to a time.
    fn advance(&mut self, to: Time) {
        if to <= self.now {
            return;
        }
        let passed = to - self.now;
        self.now = to;
        if self.is_up {
            self.up_time = self.up_time + passed;
        }
        if self.busy > 0 {
            let seconds = passed.seconds();
            self.joules += self.watts * seconds;
            for class in &mut self.classes {
                class.joules += class.watts * seconds;
            }
        }
    }

    /// Computes the power anew after the number of busy cores has changed.
    fn changed(&mut self) {
        let at = |busy: u64| self.model.watts(busy as f64 / 1000.0);
        let watts = at(self.busy);
        for class in &mut self.classes {
            class.watts = watts - at(self.busy - class.cores);
        }
        self.watts = watts - self.idle_watts;
    }

    pub(super) fn begin(&mut self, at: Time, mut running: Running) {
        self.advance(at);
        self.busy += running.cores;
        match self.classes.iter_mut().find(|class| class.cores == running.cores) {
            Some(class) => {
                class.count += 1;
                running.before = class.joules;
            }
            None => self.classes.push(Class { cores: running.cores, count: 1, watts: 0.0, joules: 0.0 }),
        }
        self.running.push(running);
        self.changed();
    }

    /// Notes that a copy of an attempt's task has started later than the attempt.
    pub(super) fn has_backup(&mut self, id: AttemptId) {
        if let Some(running) = self.running.iter_mut().find(|running| running.id == id) {
            running.has_backup = true;
        }
    }

    /// Ends an attempt and returns it with its energy; `None` if it is not on the node.
    pub(super) fn end(&mut self, id: AttemptId, at: Time) -> Option<(Running, f64)> {
        let place = self.running.iter().position(|running| running.id == id)?;
        self.advance(at);
        let running = self.running.swap_remove(place);
        self.busy -= running.cores;
        let mut cpu = 0.0;
        if let Some(class) = self.classes.iter().position(|class| class.cores == running.cores) {
            cpu = self.classes[class].joules - running.before;
            self.classes[class].count -= 1;
            if self.classes[class].count == 0 {
                self.classes.swap_remove(class);
            }
        }
        self.changed();
        let ran = at - running.since;
        // A copy that ends while it reads has received the part of its input that belongs to its time.
        let read = if ran < running.reading { ran.seconds() / running.reading.seconds() } else { 1.0 };
        let linear = running.memory_watts * ran.seconds() + running.transfer * read;
        self.of_attempts += cpu;
        self.linear += linear;
        Some((running, cpu + linear))
    }

    pub(super) fn set_up(&mut self, at: Time, is_up: bool) {
        self.advance(at);
        self.is_up = is_up;
    }

    /// Adds the energy up to `end` and returns it.
    pub(super) fn finish(&mut self, end: Time) -> Used {
        self.advance(end);
        let idle = self.idle_watts * self.up_time.seconds();
        Used { idle, remainder: self.joules - self.of_attempts, total: idle + self.joules + self.linear }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindmost_core::ids::{JobId, TaskId};
    use hindmost_core::power::{CpuPower, StaticWatts};

    fn meter(cpu: CpuPower, cores: f64) -> NodeMeter {
        let static_watts = StaticWatts { cpu: 20.0, memory: 6.0, network: 4.0 };
        NodeMeter::new(Arc::new(PowerModel { static_watts, cpu, cores, joules_per_access: 0.0, joules_per_byte: 0.0 }))
    }

    fn id(index: u32) -> AttemptId {
        AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy: 0 }
    }

    fn begin(meter: &mut NodeMeter, index: u32, at: f64, cores: u64) {
        let (since, reading) = (Time::from_seconds(at), Time::ZERO);
        let (memory_watts, transfer, before) = (0.0, 0.0, 0.0);
        let (id, is_original, has_backup) = (id(index), true, false);
        meter.begin(
            since,
            Running { id, since, reading, cores, memory_watts, transfer, is_original, has_backup, before },
        );
    }

    fn end(meter: &mut NodeMeter, index: u32, at: f64) -> f64 {
        meter.end(id(index), Time::from_seconds(at)).unwrap().1
    }

    #[test]
    fn two_tasks_that_overlap_use_their_cores_power() {
        // 30 W idle, 10 W per core, two cores. Task 0 from 1 to 5 s, task 1 from 3 to 9 s.
        let mut meter = meter(CpuPower::PerCore(10.0), 2.0);
        begin(&mut meter, 0, 1.0, 1000);
        begin(&mut meter, 1, 3.0, 1000);
        assert_eq!((end(&mut meter, 0, 5.0), end(&mut meter, 1, 9.0)), (40.0, 60.0));
        let used = meter.finish(Time::from_seconds(10.0));
        assert_eq!((used.idle, used.remainder, used.total), (300.0, 0.0, 400.0));
    }

    #[test]
    fn tasks_beyond_the_cores_leave_a_remainder() {
        // One core: while both tasks run, each of them adds nothing. Task 0 from 0 to 4 s, task 1 from 1 to 3 s.
        let mut meter = meter(CpuPower::PerCore(10.0), 1.0);
        begin(&mut meter, 0, 0.0, 1000);
        begin(&mut meter, 1, 1.0, 1000);
        assert_eq!((end(&mut meter, 1, 3.0), end(&mut meter, 0, 4.0)), (0.0, 20.0));
        // The core was busy for 4 s, which is 40 J; 20 J of it are the energy of no attempt.
        let used = meter.finish(Time::from_seconds(4.0));
        assert_eq!((used.idle, used.remainder, used.total), (120.0, 20.0, 160.0));
    }

    #[test]
    fn attempts_energies_follow_the_slope_of_a_curve() {
        // 30 W static and a curve of 50, 90 and 100 W for 0, 1 and 2 busy cores. Task 0 from 0 to 2 s with one core,
        // task 1 from 1 to 3 s with half a core: 20 W alone (from 50 to 70 W), 5 W beside task 0 (from 90 to 95 W).
        let mut meter = meter(CpuPower::Curve(vec![(0.0, 50.0), (0.5, 90.0), (1.0, 100.0)]), 2.0);
        begin(&mut meter, 0, 0.0, 1000);
        begin(&mut meter, 1, 1.0, 500);
        // Task 0: 40 W for 1 s, then from 70 to 95 W: 25 W for 1 s. Task 1: 5 W for 1 s, 20 W for 1 s.
        assert_eq!((end(&mut meter, 0, 2.0), end(&mut meter, 1, 3.0)), (65.0, 25.0));
        // Dynamic energy: 40 + 45 + 20 = 105 J, of which attempts have 90 J.
        let used = meter.finish(Time::from_seconds(3.0));
        assert_eq!((used.idle, used.remainder, used.total), (240.0, 15.0, 345.0));
    }

    #[test]
    fn a_lost_node_uses_no_power() {
        let mut meter = meter(CpuPower::PerCore(10.0), 1.0);
        begin(&mut meter, 0, 0.0, 1000);
        assert_eq!(end(&mut meter, 0, 2.0), 20.0);
        meter.set_up(Time::from_seconds(2.0), false);
        meter.set_up(Time::from_seconds(7.0), true);
        let used = meter.finish(Time::from_seconds(10.0));
        // 5 of 10 s at 30 W.
        assert_eq!((used.idle, used.total), (150.0, 170.0));
    }
}
