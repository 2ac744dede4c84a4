//! The area under a number that changes with time, such as the slots in use.

/// The area under a number that changes with time.
#[derive(Debug, Default)]
pub(crate) struct Area {
    /// Times of changes, ascending; the area until then; and the number from then on.
    steps: Vec<(f64, f64, f64)>,
}

impl Area {
    /// Returns it for a number that changes by these amounts at these times, from 0 on.
    pub(crate) fn of(mut changes: Vec<(f64, f64)>) -> Area {
        changes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Area::of_sorted(changes.into_iter())
    }

    /// The same, of changes whose times are ascending.
    pub(crate) fn of_sorted(changes: impl ExactSizeIterator<Item = (f64, f64)>) -> Area {
        let (mut area, mut number, mut before) = (0.0, 0.0, 0.0);
        let mut steps = Vec::with_capacity(changes.len());
        for (time, change) in changes {
            area += number * (time - before);
            number += change;
            before = time;
            steps.push((time, area, number));
        }
        Area { steps }
    }

    /// The first and the last time of a change.
    pub(crate) fn ends(&self) -> (f64, f64) {
        let time = |step: Option<&(f64, f64, f64)>| step.map_or(0.0, |(time, ..)| *time);
        (time(self.steps.first()), time(self.steps.last()))
    }

    /// Returns the area until a time.
    pub(crate) fn until(&self, time: f64) -> f64 {
        self.until_after(self.steps.partition_point(|(at, ..)| *at <= time), time)
    }

    /// Returns the area until a time, up to which there are so many changes.
    fn until_after(&self, changes: usize, time: f64) -> f64 {
        let before = changes.checked_sub(1).map(|last| self.steps[last]);
        before.map_or(0.0, |(at, area, number)| area + number * (time - at))
    }

    /// Returns what gives the area until times from this one on, each no earlier than the one before.
    pub(crate) fn until_later(&self, from: f64) -> impl FnMut(f64) -> f64 {
        let mut changes = self.steps.partition_point(|(at, ..)| *at <= from);
        move |time| {
            changes += self.steps[changes..].iter().take_while(|(at, ..)| *at <= time).count();
            self.until_after(changes, time)
        }
    }

    /// Returns the number after so many changes.
    pub(crate) fn after(&self, changes: usize) -> f64 {
        changes.checked_sub(1).map_or(0.0, |last| self.steps[last].2)
    }

    /// Returns the area between two times.
    pub(crate) fn between(&self, from: f64, to: f64) -> f64 {
        self.until(to) - self.until(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_add_up() {
        let area = Area::of(vec![(4.0, -1.0), (1.0, 2.0), (3.0, 1.0)]);
        assert_eq!((area.between(0.0, 2.0), area.between(2.0, 3.5), area.between(3.5, 9.0)), (2.0, 3.5, 11.5));
        assert_eq!(area.ends(), (1.0, 4.0));
    }
}
