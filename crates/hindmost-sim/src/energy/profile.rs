//! A power model in the form that the meter uses.

use std::sync::Arc;

use hindmost_core::power::{CpuPower, PowerModel};

/// Largest number of whole cores for which the power is kept.
const MOST_WHOLE: f64 = 1024.0;

/// The dynamic power of the processors of nodes that share a power model.
pub(super) struct Profile {
    model: Arc<PowerModel>,
    idle_watts: f64,
    shape: Shape,
    /// Watts above the idle power for 0, 1, 2, … busy cores: most demands are whole cores.
    whole: Box<[f64]>,
}

/// How dynamic power depends on busy cores.
enum Shape {
    /// Watts of one thousandth of a core, and the number of cores in thousandths.
    PerCore(f64, f64),
    /// Watts above the idle power at equal distances of utilisation, and the number of distances for one thousandth of
    /// a core.
    Even(Box<[f64]>, f64),
    /// Any other curve.
    Other,
}

impl Profile {
    pub(super) fn new(model: Arc<PowerModel>) -> Profile {
        let idle_watts = model.idle_watts();
        let thousandths = model.cores * 1000.0;
        let shape = match &model.cpu {
            CpuPower::PerCore(watts) => Shape::PerCore(watts / 1000.0, thousandths),
            CpuPower::Curve(points) => {
                let steps = points.len() as f64 - 1.0;
                let is_even = points.iter().enumerate().all(|(at, point)| point.0 == at as f64 / steps);
                let first = points.first().map_or(0.0, |point| point.1);
                let watts = points.iter().map(|point| point.1 - first).collect();
                if is_even { Shape::Even(watts, steps / thousandths) } else { Shape::Other }
            }
        };
        let mut profile = Profile { model, idle_watts, shape, whole: Box::default() };
        let most = profile.model.cores.min(MOST_WHOLE) as u64;
        profile.whole = (0..=most).map(|cores| profile.computed(cores * 1000)).collect();
        profile
    }

    /// Returns whether this is the profile of a model, which nodes of one class share.
    pub(super) fn is_of(&self, model: &Arc<PowerModel>) -> bool {
        Arc::ptr_eq(&self.model, model)
    }

    pub(super) fn model(&self) -> &PowerModel {
        &self.model
    }

    pub(super) fn idle_watts(&self) -> f64 {
        self.idle_watts
    }

    /// Returns whether every core draws the same power while at most this many thousandths of cores are busy.
    pub(super) fn is_fixed_up_to(&self, busy: u64) -> bool {
        matches!(self.shape, Shape::PerCore(_, most) if busy as f64 <= most)
    }

    /// Returns the power of the processor above its idle power with this many thousandths of busy cores, watts.
    #[inline]
    pub(super) fn watts(&self, busy: u64) -> f64 {
        let known = if busy.is_multiple_of(1000) { self.whole.get((busy / 1000) as usize) } else { None };
        known.copied().unwrap_or_else(|| self.computed(busy))
    }

    fn computed(&self, busy: u64) -> f64 {
        match &self.shape {
            Shape::PerCore(watts, most) => watts * (busy as f64).min(*most),
            Shape::Even(watts, scale) => {
                let place = busy as f64 * scale;
                let at = place as usize;
                match watts.get(at + 1) {
                    Some(next) => watts[at] + (next - watts[at]) * (place - at as f64),
                    None => watts.last().copied().unwrap_or(0.0),
                }
            }
            Shape::Other => self.model.watts(busy as f64 / 1000.0) - self.idle_watts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindmost_core::power::StaticWatts;

    #[test]
    fn profiles_have_the_power_of_their_models() {
        let even = [0.0, 30.0, 40.0, 45.0].map(|watts| 50.0 + watts);
        let evenly = even.iter().enumerate().map(|(at, watts)| (at as f64 / 3.0, *watts)).collect();
        let curves = [
            CpuPower::PerCore(10.0),
            CpuPower::Curve(evenly),
            CpuPower::Curve(vec![(0.0, 9.0), (0.2, 20.0), (1.0, 31.0)]),
        ];
        for cpu in curves {
            let static_watts = StaticWatts { cpu: 4.0, memory: 2.0, network: 1.0 };
            let model = PowerModel { static_watts, cpu, cores: 2.5, joules_per_access: 0.0, joules_per_byte: 0.0 };
            let profile = Profile::new(Arc::new(model.clone()));
            for busy in (0..4000).step_by(125) {
                let expected = model.watts(busy as f64 / 1000.0);
                let found = profile.idle_watts() + profile.watts(busy);
                assert!((found - expected).abs() < 1e-9, "{busy}: {found} and {expected} in {model:?}");
            }
        }
    }
}
