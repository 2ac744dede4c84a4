//! The processor energy of a node on which the power of an attempt depends on what else runs.

use hindmost_core::ids::AttemptId;
use hindmost_core::time::Time;

use super::profile::Profile;

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

/// An attempt that holds resources of the node.
#[derive(Clone, Debug)]
struct Running {
    id: AttemptId,
    /// Busy cores, in thousandths.
    cores: u64,
    /// Energy of its class when it began, joules.
    before: f64,
}

/// Adds up the dynamic processor energy of a node and of its attempts.
#[derive(Default)]
pub(super) struct Shared {
    /// Up to this time the energy has been added.
    now: Time,
    /// True if the number of busy cores has changed since the power was computed.
    is_changed: bool,
    /// Busy cores of all attempts, in thousandths, so that their sum has no rounding error.
    busy: u64,
    /// Processor power above the idle power, watts.
    watts: f64,
    /// Processor energy above the idle energy, joules.
    joules: f64,
    classes: Vec<Class>,
    running: Vec<Running>,
}

impl Shared {
    /// Returns the dynamic energy of the processor up to the last change, joules.
    pub(super) fn joules(&self) -> f64 {
        self.joules
    }

    /// Adds the energy up to a time.
    #[inline]
    fn advance(&mut self, profile: &Profile, to: Time) {
        if self.busy > 0 && to > self.now {
            if self.is_changed {
                self.compute(profile);
            }
            let seconds = (to - self.now).seconds();
            self.joules += self.watts * seconds;
            for class in &mut self.classes {
                class.joules += class.watts * seconds;
            }
        }
        self.now = to;
    }

    /// Computes the power. Attempts often begin and end at the same time, so this waits until time passes.
    fn compute(&mut self, profile: &Profile) {
        self.is_changed = false;
        self.watts = profile.watts(self.busy);
        for class in &mut self.classes {
            class.watts = self.watts - profile.watts(self.busy - class.cores);
        }
    }

    /// Begins an attempt that keeps this many thousandths of cores busy.
    pub(super) fn begin(&mut self, profile: &Profile, id: AttemptId, cores: u64, at: Time) {
        self.advance(profile, at);
        self.busy += cores;
        let before = if let Some(class) = self.classes.iter_mut().find(|class| class.cores == cores) {
            class.count += 1;
            class.joules
        } else {
            self.classes.push(Class { cores, count: 1, watts: 0.0, joules: 0.0 });
            0.0
        };
        self.running.push(Running { id, cores, before });
        self.is_changed = true;
    }

    /// Ends an attempt and returns its processor energy; 0 if it has not begun.
    pub(super) fn end(&mut self, profile: &Profile, id: AttemptId, at: Time) -> f64 {
        // Attempts on a node often differ only in their index, so that it is compared first.
        let is_it = |running: &Running| running.id.task.index == id.task.index && running.id == id;
        let Some(place) = self.running.iter().position(is_it) else { return 0.0 };
        self.advance(profile, at);
        let Running { cores, before, .. } = self.running.swap_remove(place);
        self.busy -= cores;
        let mut joules = 0.0;
        if let Some(place) = self.classes.iter().position(|class| class.cores == cores) {
            let class = &mut self.classes[place];
            joules = class.joules - before;
            class.count -= 1;
            if class.count == 0 {
                self.classes.swap_remove(place);
            }
        }
        self.is_changed = true;
        joules
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use hindmost_core::ids::{JobId, TaskId};
    use hindmost_core::power::{CpuPower, PowerModel, StaticWatts};

    fn profile(cpu: CpuPower, cores: f64) -> Profile {
        let static_watts = StaticWatts { cpu: 20.0, memory: 6.0, network: 4.0 };
        Profile::new(Arc::new(PowerModel { static_watts, cpu, cores, joules_per_access: 0.0, joules_per_byte: 0.0 }))
    }

    fn id(index: u32) -> AttemptId {
        AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy: 0 }
    }

    fn seconds(at: f64) -> Time {
        Time::from_seconds(at)
    }

    #[test]
    fn two_tasks_that_overlap_use_their_cores_power() {
        // 10 W per core, two cores. Task 0 from 1 to 5 s, task 1 from 3 to 9 s.
        let (profile, mut node) = (profile(CpuPower::PerCore(10.0), 2.0), Shared::default());
        node.begin(&profile, id(0), 1000, seconds(1.0));
        node.begin(&profile, id(1), 1000, seconds(3.0));
        assert_eq!(node.end(&profile, id(0), seconds(5.0)), 40.0);
        assert_eq!(node.end(&profile, id(1), seconds(9.0)), 60.0);
        assert_eq!(node.joules(), 100.0);
    }

    #[test]
    fn tasks_beyond_the_cores_share_their_power() {
        // One core: while both tasks run, each of them adds nothing. Task 0 from 0 to 4 s, task 1 from 1 to 3 s.
        let (profile, mut node) = (profile(CpuPower::PerCore(10.0), 1.0), Shared::default());
        node.begin(&profile, id(0), 1000, seconds(0.0));
        node.begin(&profile, id(1), 1000, seconds(1.0));
        assert_eq!(node.end(&profile, id(1), seconds(3.0)), 0.0);
        assert_eq!(node.end(&profile, id(0), seconds(4.0)), 20.0);
        // The core was busy for 4 s, which is 40 J; 20 J of it are the energy of no attempt.
        assert_eq!(node.joules(), 40.0);
    }

    #[test]
    fn attempts_energies_follow_the_slope_of_a_curve() {
        // A curve of 50, 90 and 100 W for 0, 1 and 2 busy cores. Task 0 from 0 to 2 s with one core, task 1 from 1 to
        // 3 s with half a core: 20 W alone (from 50 to 70 W), 5 W beside task 0 (from 90 to 95 W).
        let curve = CpuPower::Curve(vec![(0.0, 50.0), (0.5, 90.0), (1.0, 100.0)]);
        let (profile, mut node) = (profile(curve, 2.0), Shared::default());
        node.begin(&profile, id(0), 1000, seconds(0.0));
        node.begin(&profile, id(1), 500, seconds(1.0));
        // Task 0: 40 W for 1 s, then from 70 to 95 W: 25 W for 1 s. Task 1: 5 W for 1 s, 20 W for 1 s.
        assert_eq!(node.end(&profile, id(0), seconds(2.0)), 65.0);
        assert_eq!(node.end(&profile, id(1), seconds(3.0)), 25.0);
        // 40 + 45 + 20 J, of which attempts have 90 J.
        assert_eq!(node.joules(), 105.0);
        assert_eq!(node.end(&profile, id(7), seconds(4.0)), 0.0);
    }
}
