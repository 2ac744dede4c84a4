//! The load of a node's neighbours: quiet and busy periods that take turns.

use hindmost_core::random::{Purpose, draw};
use hindmost_core::time::Time;
use hindmost_math::distribution::Distribution;

use crate::disturbances::{NeighbourStart, Neighbours};
use crate::parameter::Draws;

/// Smallest and largest number of mean cycles for which the process has run when a run begins in a random state.
const CYCLES_BEFORE: (f64, f64) = (10.0, 20.0);

/// The load on one node. Even periods are quiet, odd ones are busy.
pub(super) struct Neighbour {
    quiet: Distribution,
    busy: Distribution,
    slowdowns: Distribution,
    seed: u64,
    node: u64,
    period: u64,
    /// Slow-down of the present period.
    slowdown: f64,
    /// End of the present period, in seconds. Before the run begins, times are negative.
    until: f64,
}

impl Neighbour {
    /// Creates the load on a node at time 0.
    pub(super) fn new(load: &Neighbours, seed: u64, node: u64) -> Result<Neighbour, String> {
        let of = |part| Draws::of_part(seed, Purpose::Neighbours, node, part);
        let quiet = load.quiet.resolve(&mut of(0))?;
        let busy = load.busy.resolve(&mut of(1))?;
        let slowdowns = load.slowdown.resolve(&mut of(2))?;
        let begin = match load.start {
            NeighbourStart::Quiet => 0.0,
            NeighbourStart::Random => {
                let (least, most) = CYCLES_BEFORE;
                let cycles = least + (most - least) * draw(seed, Purpose::NeighbourPeriod, node, u64::MAX);
                -cycles * (quiet.mean() + busy.mean())
            }
        };
        let mut made = Neighbour { quiet, busy, slowdowns, seed, node, period: 0, slowdown: 1.0, until: begin };
        made.until += made.length();
        made.advance(Time::ZERO);
        Ok(made)
    }

    fn drawn(&self, from: &Distribution, number: u64) -> f64 {
        from.survival_quantile(draw(self.seed, Purpose::NeighbourPeriod, self.node, number))
    }

    fn is_busy(&self) -> bool {
        !self.period.is_multiple_of(2)
    }

    /// Draws the length of the present period, at least one tick, in seconds.
    fn length(&self) -> f64 {
        let from = if self.is_busy() { &self.busy } else { &self.quiet };
        self.drawn(from, 2 * self.period).max(Time::TICK.seconds())
    }

    /// Advances the load to a time. Returns true if the slow-down has changed.
    pub(super) fn advance(&mut self, now: Time) -> bool {
        let before = self.slowdown;
        // Compared in ticks, because the agenda's entries are in ticks.
        while self.until <= 0.0 || Time::from_seconds(self.until) <= now {
            self.period += 1;
            self.slowdown =
                if self.is_busy() { self.drawn(&self.slowdowns, 2 * self.period + 1).max(1.0) } else { 1.0 };
            let (end, length) = (self.until, self.length());
            // A period shorter than the precision of the time would never end.
            self.until = (end + length).max(end.next_up());
        }
        self.slowdown != before
    }

    /// Returns the slow-down of the present period.
    pub(super) fn slowdown(&self) -> f64 {
        self.slowdown
    }

    /// Returns when the present period ends; `None` if the clock can't count that far.
    pub(super) fn until(&self) -> Option<Time> {
        Some(Time::from_seconds(self.until)).filter(|until| *until <= super::super::LAST_INSTANT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::{Family, Parameter};

    fn load(start: NeighbourStart) -> Neighbours {
        let number = Parameter::Number;
        Neighbours { quiet: number(10.0), busy: number(5.0), slowdown: number(3.0), start }
    }

    fn at(neighbour: &mut Neighbour, seconds: f64) -> f64 {
        neighbour.advance(Time::from_seconds(seconds));
        neighbour.slowdown()
    }

    #[test]
    fn quiet_and_busy_periods_take_turns() {
        let mut neighbour = Neighbour::new(&load(NeighbourStart::Quiet), 1, 0).unwrap();
        assert_eq!(
            [0.0, 9.9, 10.0, 14.9, 15.0, 25.5].map(|time| at(&mut neighbour, time)),
            [1.0, 1.0, 3.0, 3.0, 1.0, 3.0]
        );
        assert_eq!(neighbour.until(), Some(Time::from_seconds(30.0)));
    }

    #[test]
    fn a_random_start_is_busy_as_often_as_the_mean_periods_say() {
        // Busy for a third of the time; four standard errors of 3000 nodes.
        let busy = (0..3000).filter(|node| {
            let mut neighbour = Neighbour::new(&load(NeighbourStart::Random), 7, *node).unwrap();
            at(&mut neighbour, 0.0) == 3.0
        });
        let share = busy.count() as f64 / 3000.0;
        assert!((share - 1.0 / 3.0).abs() < 4.0 * (2.0f64 / 9.0 / 3000.0).sqrt(), "{share}");
    }

    #[test]
    fn the_load_does_not_depend_on_when_it_is_looked_at() {
        let mut load = load(NeighbourStart::Random);
        load.quiet = Parameter::Drawn(Box::new(Family::Exponential { mean: Parameter::Number(2.0) }));
        let [mut often, mut once] = [(); 2].map(|()| Neighbour::new(&load, 3, 5).unwrap());
        let last = (0..1000).map(|time| at(&mut often, f64::from(time) * 0.37)).last();
        assert_eq!(last, Some(at(&mut once, 999.0 * 0.37)));
        assert_eq!(often.until(), once.until());
    }
}
