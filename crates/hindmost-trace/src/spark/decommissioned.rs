//! Decommissioned executors. They take no more tasks once they are to leave, which the log does not record. Their removal follows
//! when their blocks have moved, or not at all if the application ends before.

use crate::recording::Recording;

/// Removes decommissioned executors when their last attempt has ended, if a task waited then that started elsewhere later. Returns how many
/// these are. `decommissioned` says of each executor whether it was; `None` if the log does not have its removal: then it was if it may
/// have been, by the settings.
pub(super) fn leave(recording: &mut Recording, decommissioned: &[Option<bool>]) -> u64 {
    let setting = recording.settings.get("spark.decommission.enabled");
    let may_be = setting.is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    let mut left = 0;
    for (number, was) in (0..).zip(decommissioned) {
        if !was.unwrap_or(may_be) {
            continue;
        }
        let rows =
            || recording.phases.iter().flat_map(|phase| phase.rows.iter().map(move |row| (phase.submitted, row)));
        let own = rows().filter(|(_, row)| row.executor == number).map(|(_, row)| row.end);
        let Some(last) = own.max_by(f64::total_cmp) else { continue };
        let waited = rows().any(|(submitted, row)| row.start > last && submitted.is_some_and(|at| at <= last));
        let executor = &mut recording.executors[number as usize];
        if waited && executor.removed.is_none_or(|removed| removed > last) {
            executor.removed = Some(last);
            left += 1;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{executor, phase, recording, row};

    #[test]
    fn decommissioned_executors_leave_with_their_last_attempt() {
        // The first executor takes no task after 2 s, although three wait until the second one has run two others.
        let rows = vec![row(0, 0, 0.0, 2.0), row(1, 1, 0.0, 2.5), row(2, 1, 2.5, 5.0), row(3, 1, 5.0, 7.0)];
        let mut one = recording(vec![phase(rows)], vec![executor("a", 1), executor("a", 1)]);
        one.phases[0].submitted = Some(0.0);
        let mut left = |was: Option<bool>, setting: &str, removed: Option<f64>| {
            one.settings.insert("spark.decommission.enabled".to_owned(), setting.to_owned());
            one.executors[0].removed = removed;
            (leave(&mut one, &[was, None]), one.executors[0].removed, one.executors[1].removed)
        };
        assert_eq!(left(None, "true", None), (1, Some(2.0), None));
        assert_eq!(left(None, "false", None), (0, None, None));
        assert_eq!(left(Some(true), "false", Some(6.0)), (1, Some(2.0), None));
        assert_eq!(left(Some(false), "true", Some(6.0)), (0, Some(6.0), None), "it was lost");
        // No task waited.
        one.phases[0].submitted = Some(2.2);
        assert_eq!(leave(&mut one, &[Some(true), None]), 0);
    }
}
