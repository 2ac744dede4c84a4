//! Worked cases of the formulas and of Algorithm 1.

use super::*;

/// A straggler: its end, the power of its slot, and the nodes that hold its input.
struct Straggler {
    end: f64,
    watts: f64,
    input: &'static [usize],
}

/// A slot of a node with the same number: when it comes free, its power, and the last task on it.
struct Slot {
    free_at: f64,
    watts: f64,
    last: LastTask,
}

/// The cases below: stragglers and slots. The copies' input takes this long to transfer.
struct Case {
    stragglers: Vec<Straggler>,
    slots: Vec<Slot>,
    data_seconds: f64,
    taken: Vec<usize>,
}

impl Slots for Case {
    type Slot = usize;

    fn best(&mut self, straggler: usize) -> Option<(usize, Gain)> {
        let free = (0..self.slots.len()).filter(|slot| !self.taken.contains(slot));
        let gains: Vec<(usize, Gain)> =
            free.collect::<Vec<_>>().into_iter().filter_map(|slot| Some((slot, self.gain(straggler, slot)?))).collect();
        best_slot(gains)
    }

    fn gain(&mut self, straggler: usize, slot: usize) -> Option<Gain> {
        let (straggler, found) = (&self.stragglers[straggler], &self.slots[slot]);
        let copy = copy_duration(&found.last, straggler.input.contains(&slot), self.data_seconds);
        let time = time_saved(straggler.end, 0.0, copy, found.free_at);
        Some(Gain { time, energy: energy_saved(straggler.watts, time, found.watts, copy) })
    }

    fn take(&mut self, slot: usize) {
        self.taken.push(slot);
    }
}

fn local(seconds: f64) -> LastTask {
    LastTask { seconds, is_local: true, data_seconds: 0.0 }
}

fn remote(seconds: f64, data_seconds: f64) -> LastTask {
    LastTask { seconds, is_local: false, data_seconds }
}

#[test]
fn a_copy_takes_as_long_as_the_last_task_on_its_slot() {
    // Case 1: same locality. The size of the copy's own input does not matter.
    assert_eq!(copy_duration(&local(10.0), true, 4.0), 10.0);
    assert_eq!(copy_duration(&remote(10.0, 3.0), false, 4.0), 10.0);
    // Case 2: the last task read its 3 s of input from another node, the copy has its input on the node.
    assert_eq!(copy_duration(&remote(10.0, 3.0), true, 4.0), 7.0);
    assert_eq!(copy_duration(&remote(2.0, 3.0), true, 4.0), 0.0);
    // Case 3: the copy must read its 4 s of input from another node.
    assert_eq!(copy_duration(&local(10.0), false, 4.0), 14.0);
}

#[test]
fn time_and_energy_saved_follow_equations_2_and_5() {
    // The straggler runs from 5 for 40 s, the copy from 20 for 10 s: 45 − 30 = 15 s are saved.
    let time = time_saved(40.0, 5.0, 10.0, 20.0);
    assert_eq!(time, 15.0);
    // 8 W × 15 s − 6 W × 10 s = 60 J.
    assert_eq!(energy_saved(8.0, time, 6.0, 10.0), 60.0);
    // At equal power a copy saves energy if the straggler's remaining time is above twice the copy's duration plus the
    // wait: here it must be above 10 + 10 + 5, counted from now = 15.
    let saved = |end| energy_saved(1.0, time_saved(end, 0.0, 10.0, 20.0), 1.0, 10.0);
    assert_eq!((saved(15.0 + 25.0), saved(15.0 + 25.5)), (0.0, 0.5));
}

#[test]
fn criticalness_is_the_remaining_time_at_the_average_speed() {
    // A fifth is done after 6 s, so four fifths take 24 s more.
    assert!((criticalness(0.2, 6.0) - 24.0).abs() < 1e-12);
    assert_eq!(criticalness(1.0, 6.0), 0.0);
    assert_eq!(criticalness(0.0, 6.0), f64::INFINITY);
}

#[test]
fn a_window_is_shorter_than_the_mean_task() {
    assert_eq!(window_length(0.2, 10.0, 15.0), 2.0);
    assert_eq!(window_length(1.0, 10.0, 10.0), 9.5);
    assert_eq!(window_length(0.2, 0.001, 10.0), 0.5);
}

#[test]
fn a_gain_beats_another_only_in_both_metrics() {
    let gain = |time, energy| Gain { time, energy };
    assert!(gain(2.0, 2.0).beats(gain(1.0, 1.0)));
    assert!(!gain(2.0, 1.0).beats(gain(1.0, 1.0)));
    assert!(!gain(2.0, 0.5).beats(gain(1.0, 1.0)) && !gain(1.0, 1.0).beats(gain(2.0, 0.5)));
    // A slot that saves time but no energy is worse than no copy.
    assert_eq!(best_slot([("a", gain(5.0, 0.0)), ("b", gain(0.0, 5.0))]), None);
}

#[test]
fn the_scan_order_of_slots_matters() {
    let (fast, frugal, both) =
        (Gain { time: 9.0, energy: 2.0 }, Gain { time: 4.0, energy: 6.0 }, Gain { time: 5.0, energy: 7.0 });
    // Neither of the first two beats the other, so the first one stays.
    assert_eq!(best_slot([(1, fast), (2, frugal)]).unwrap().0, 1);
    assert_eq!(best_slot([(2, frugal), (1, fast)]).unwrap().0, 2);
    // The third slot beats only the frugal one.
    assert_eq!(best_slot([(1, fast), (2, frugal), (3, both)]).unwrap().0, 1);
    assert_eq!(best_slot([(2, frugal), (1, fast), (3, both)]).unwrap().0, 3);
}

/// Two slots of one power without transfers: slot 0 is free now and slow, slot 1 comes free at 2 and is fast.
fn two_slots(ends: &[f64]) -> Case {
    let straggler = |end: &f64| Straggler { end: *end, watts: 1.0, input: &[] };
    let slot = |(free_at, seconds)| Slot { free_at, watts: 1.0, last: remote(seconds, 0.0) };
    Case {
        stragglers: ends.iter().map(straggler).collect(),
        slots: [(0.0, 16.0), (2.0, 9.0)].into_iter().map(slot).collect(),
        data_seconds: 0.0,
        taken: Vec::new(),
    }
}

#[test]
fn the_most_critical_straggler_chooses_first() {
    // Straggler 0 ends at 50: (34, 18) on slot 0, (39, 30) on slot 1. Straggler 1 ends at 40: (24, 8) on slot 0, (29, 20)
    // on slot 1, which is taken.
    let mut case = two_slots(&[50.0, 40.0]);
    let found = allocate(&[50.0, 40.0], 3, Closeness::Printed, &mut case);
    let (first, second) = (found[0].unwrap(), found[1].unwrap());
    assert_eq!(first, (1, Gain { time: 39.0, energy: 30.0 }));
    assert_eq!(second, (0, Gain { time: 24.0, energy: 8.0 }));
    // A straggler that ends at 30 saves 14 s and −2 J on slot 0: it gets no copy.
    let mut case = two_slots(&[50.0, 30.0]);
    let found = allocate(&[50.0, 30.0], 3, Closeness::Printed, &mut case);
    assert_eq!((found[0].unwrap().0, found[1]), (1, None));
}

/// Slot 0 is on the node that holds the input of straggler 1. Transfers take 10 s, and the last tasks were local and
/// took 10 s, so that a copy of straggler 1 takes 10 s on slot 0 and other copies take 20 s.
fn local_slots(second: Option<f64>) -> Case {
    let slot = |free_at| Slot { free_at, watts: 1.0, last: local(10.0) };
    let mut slots = vec![slot(0.0)];
    slots.extend(second.map(slot));
    let stragglers = vec![
        Straggler { end: 60.0, watts: 1.0, input: &[] },
        // Node 0 holds the input.
        Straggler { end: 55.0, watts: 1.0, input: &[0] },
    ];
    Case { stragglers, slots, data_seconds: 10.0, taken: Vec::new() }
}

#[test]
fn a_straggler_leaves_its_slot_to_one_that_gains_more() {
    // Straggler 0 takes slot 0: it saves 40 s and 20 J there. On slot 1, free at 14, it saves 26 s and 6 J. Straggler 1
    // would take 20 s on slot 1, from 14 to 34: it saves 21 s and 1 J there, so it needs no exchange.
    let mut case = local_slots(Some(14.0));
    let found = allocate(&[60.0, 55.0], 3, Closeness::Printed, &mut case);
    assert_eq!([found[0].unwrap().0, found[1].unwrap().0], [0, 1]);
    // If slot 1 comes free at 16, straggler 1 would save 19 s and −1 J on it: no copy. On slot 0 it saves 45 s and 35 J,
    // more than straggler 0; score² = 5/40, score³ = 15/20. Straggler 0 saves 24 s and 4 J on slot 1, so it leaves slot 0.
    let mut case = local_slots(Some(16.0));
    let found = allocate(&[60.0, 55.0], 3, Closeness::Printed, &mut case);
    assert_eq!(found[0].unwrap(), (1, Gain { time: 24.0, energy: 4.0 }));
    assert_eq!(found[1].unwrap(), (0, Gain { time: 45.0, energy: 35.0 }));
    // Without exchanges straggler 1 gets no copy.
    let mut case = local_slots(Some(16.0));
    assert_eq!(allocate(&[60.0, 55.0], 0, Closeness::Printed, &mut case)[1], None);
}

#[test]
fn no_exchange_is_made_if_no_slot_is_left_for_the_other() {
    let mut case = local_slots(None);
    let found = allocate(&[60.0, 55.0], 3, Closeness::Printed, &mut case);
    assert_eq!((found[0].unwrap().0, found[1]), (0, None));
    // Nor if the slot that is left saves straggler 0 no energy: at 19 it would save 21 s and 1 J, at 20 s no energy.
    for (free_at, exchanged) in [(19.0, true), (20.0, false)] {
        let mut case = local_slots(Some(free_at));
        let found = allocate(&[60.0, 55.0], 3, Closeness::Printed, &mut case);
        assert_eq!(found[1].is_some(), exchanged, "{free_at}");
    }
}

#[test]
fn scores_need_gains_in_both_metrics() {
    let (old, new) = (Gain { time: 40.0, energy: 20.0 }, Gain { time: 45.0, energy: 35.0 });
    // (60 − 55)/60 + 5/40 + 15/20, and 55/60 + 5/40 + 15/20.
    let score = |closeness| exchange_score(closeness, (55.0, 60.0), (new, old)).unwrap();
    assert!((score(Closeness::Printed) - (5.0 / 60.0 + 0.875)).abs() < 1e-12);
    assert!((score(Closeness::Ratio) - (55.0 / 60.0 + 0.875)).abs() < 1e-12);
    let less = Gain { time: 45.0, energy: 20.0 };
    assert_eq!(exchange_score(Closeness::Printed, (55.0, 60.0), (less, old)), None);
}

/// Three stragglers have slots on which the fourth, whose input is there, would gain more; slot 3 is left. Only
/// straggler `can_move` may use slot 3. The exchanges are tried by score.
struct Partners {
    criticalness: [f64; 4],
    can_move: usize,
    tried: Vec<usize>,
}

impl Slots for Partners {
    type Slot = usize;

    fn best(&mut self, straggler: usize) -> Option<(usize, Gain)> {
        if self.tried.len() < 3 {
            self.tried.push(straggler);
            return Some((straggler, Gain { time: 10.0, energy: 10.0 }));
        }
        self.tried.push(straggler);
        (straggler == self.can_move).then_some((3, Gain { time: 1.0, energy: 1.0 }))
    }

    fn gain(&mut self, _straggler: usize, slot: usize) -> Option<Gain> {
        // Slot 1 is the best for the fourth straggler.
        Some(Gain { time: 12.0 + if slot == 1 { 8.0 } else { 0.0 }, energy: 12.0 })
    }

    fn take(&mut self, _slot: usize) {}
}

#[test]
fn exchanges_are_tried_by_score_and_at_most_k_of_them() {
    let run = |can_move, exchanges, closeness| {
        let mut slots = Partners { criticalness: [100.0, 60.0, 40.0, 30.0], can_move, tried: Vec::new() };
        let criticalness = slots.criticalness;
        let found = allocate(&criticalness, exchanges, closeness, &mut slots);
        (slots.tried.split_off(4), found[3].map(|(slot, _)| slot))
    };
    // Scores as printed: 0.7 + 0.2 + 0.2, 0.5 + 1 + 0.2 and 0.25 + 0.2 + 0.2.
    assert_eq!(run(2, 3, Closeness::Printed), (vec![1, 0, 2], Some(2)));
    assert_eq!(run(2, 2, Closeness::Printed), (vec![1, 0], None));
    // By the ratio: 0.3 + 0.4, 0.5 + 1.2 and 0.75 + 0.4.
    assert_eq!(run(2, 2, Closeness::Ratio), (vec![1, 2], Some(2)));
    // The first exchange that works is made.
    assert_eq!(run(1, 3, Closeness::Printed), (vec![1], Some(1)));
}
