//! The example of Figure 3, rebuilt: its picture is not part of the paper's text. This instance has all numbers that the
//! text states.

use hindmost_claims::{Cell, DataTable, Measured};
use hindmost_policies::theory::skyline::{Gain, best_slot, energy_saved, time_saved};

use super::one;

/// When N1, N3 and N4 come free: T1, T2 and T4 end there.
const FREE: [(&str, f64, &str); 3] = [("N1", 2.0, "T1"), ("N3", 10.0, "T2"), ("N4", 4.0, "T4")];
/// When the straggler T3 would end on N2.
const STRAGGLER_END: f64 = 30.0;
/// Durations of a copy of T3, of T5 and of T6 on N1, N3 and N4. Those that no schedule uses are infinite.
const COPY: [f64; 3] = [16.0, 12.0, 11.0];
const T5: [f64; 3] = [16.0, f64::INFINITY, 10.0];
const T6: [f64; 3] = [f64::INFINITY, 12.0, 11.0];

/// When the copy of T3 is started.
#[derive(Clone, Copy)]
pub(super) enum Schedule {
    /// On the first slot that comes free.
    Early,
    /// After the normal tasks.
    Late,
    /// On the slot that the window reserves.
    Window,
}

impl Schedule {
    const ALL: [Schedule; 3] = [Schedule::Early, Schedule::Late, Schedule::Window];

    fn name(self) -> &'static str {
        match self {
            Schedule::Early => "early",
            Schedule::Late => "late",
            Schedule::Window => "window",
        }
    }

    /// Returns the places in [`FREE`] of the copy, of T5 and of T6. The first task of the list of pending ones gets the
    /// first slot that comes free: the copy is before T5 and T6, after them, or on the reserved slot.
    fn slots(self) -> [usize; 3] {
        let mut by_time = [0, 1, 2];
        by_time.sort_by(|one, other| FREE[*one].1.total_cmp(&FREE[*other].1));
        match self {
            Schedule::Early => by_time,
            Schedule::Late => [by_time[2], by_time[0], by_time[1]],
            Schedule::Window => {
                let reserved = chosen().unwrap_or(by_time[0]);
                let mut left = by_time.into_iter().filter(|slot| *slot != reserved);
                let mut next = || left.next().unwrap_or(reserved);
                [reserved, next(), next()]
            }
        }
    }

    /// Returns the duration of the copy.
    fn copy(self) -> f64 {
        COPY[self.slots()[0]]
    }

    /// Returns when T3 has ended.
    fn finish(self) -> f64 {
        (FREE[self.slots()[0]].1 + self.copy()).min(STRAGGLER_END)
    }

    /// Returns the time for which the four slots are busy.
    fn resource(self) -> f64 {
        let [copy, fifth, sixth] = self.slots();
        // The straggler is stopped when its copy ends.
        self.finish() + (FREE[copy].1 + COPY[copy]) + (FREE[fifth].1 + T5[fifth]) + (FREE[sixth].1 + T6[sixth])
    }
}

/// Returns the slot that Algorithm 1 chooses, scanned in the order in which the slots come free.
fn chosen() -> Option<usize> {
    let mut by_time = [0, 1, 2];
    by_time.sort_by(|one, other| FREE[*one].1.total_cmp(&FREE[*other].1));
    let gain = |slot: usize| {
        let time = time_saved(STRAGGLER_END, 0.0, COPY[slot], FREE[slot].1);
        Gain { time, energy: energy_saved(1.0, time, 1.0, COPY[slot]) }
    };
    best_slot(by_time.map(|slot| (slot, gain(slot)))).map(|(slot, _)| slot)
}

pub(super) fn finish(schedule: Schedule) -> Result<Vec<Measured>, String> {
    one(&format!("end of T3, {}", schedule.name()), schedule.finish(), "")
}

pub(super) fn resource(schedule: Schedule) -> Result<Vec<Measured>, String> {
    one(&format!("slots × time, {}", schedule.name()), schedule.resource(), "")
}

pub(super) fn copy(schedule: Schedule) -> Result<Vec<Measured>, String> {
    one(&format!("duration of the copy, {}", schedule.name()), schedule.copy(), "")
}

/// Returns by how much the window is better than the better one of the other schedules.
fn gain_of(value: impl Fn(Schedule) -> f64) -> f64 {
    value(Schedule::Early).min(value(Schedule::Late)) - value(Schedule::Window)
}

pub(super) fn finish_gain() -> Result<Vec<Measured>, String> {
    one("by how much earlier T3 ends with the window", gain_of(Schedule::finish), "")
}

pub(super) fn resource_gain() -> Result<Vec<Measured>, String> {
    one("by how much less the window uses", gain_of(Schedule::resource), "")
}

pub(super) fn chosen_slot() -> Result<Vec<Measured>, String> {
    let number = chosen().and_then(|slot| FREE[slot].0[1..].parse().ok());
    Ok(vec![Measured::exact(super::super::ANALYSIS, "number of the node that Algorithm 1 chooses", number, "")])
}

pub(super) fn schedules() -> Result<DataTable, String> {
    let mut table = DataTable::new(
        "Start – end and node of each task; T3 runs on N2 until its copy C3 ends",
        ["task", "early", "late", "window"].map(str::to_owned).to_vec(),
        Vec::new(),
    );
    for (node, end, task) in FREE {
        let mut row = vec![Cell::from(task)];
        row.resize(4, Cell::Text(format!("0 – {end} on {node}")));
        table.rows.push(row);
    }
    let mut straggler = vec![Cell::from("T3")];
    straggler.extend(Schedule::ALL.map(|schedule| Cell::Text(format!("0 – {} on N2", schedule.finish()))));
    table.rows.push(straggler);
    for (at, (name, durations)) in [("C3", COPY), ("T5", T5), ("T6", T6)].into_iter().enumerate() {
        let mut row = vec![Cell::from(name)];
        for schedule in Schedule::ALL {
            let slot = schedule.slots()[at];
            let (node, start, _) = FREE[slot];
            row.push(Cell::Text(format!("{start} – {} on {node}", start + durations[slot])));
        }
        table.rows.push(row);
    }
    let mut total = vec![Cell::from("slots × time")];
    total.extend(Schedule::ALL.map(|schedule| Cell::from(schedule.resource())));
    table.rows.push(total);
    Ok(table)
}
