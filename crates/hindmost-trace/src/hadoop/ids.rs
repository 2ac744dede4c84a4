//! Parses Hadoop ids such as `attempt_1329348432655_0001_m_000003_0`.

/// The phase that a task belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Map,
    Reduce,
    /// Setup or cleanup of a job, or cleanup after a task; belongs to no phase.
    Other,
}

impl Kind {
    /// Parses a `taskType` field. Only this field distinguishes setup and cleanup tasks, whose ids and events look
    /// like those of maps and reduces.
    pub(super) fn of_type(text: &str) -> Kind {
        match text {
            "MAP" => Kind::Map,
            "REDUCE" => Kind::Reduce,
            _ => Kind::Other,
        }
    }

    /// Returns 0 for maps and 1 for reduces.
    pub(super) fn phase(self) -> Option<usize> {
        match self {
            Kind::Map => Some(0),
            Kind::Reduce => Some(1),
            Kind::Other => None,
        }
    }
}

/// The parts of a task's or attempt's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id<'a> {
    /// The job's id without `job_`: the part between `task_` or `attempt_` and the letter.
    pub job: &'a str,
    /// The letter before the task's index: `m` for maps, `r` for reduces, or another letter.
    pub letter: u8,
    pub task: u32,
    /// The attempt's number; `None` in a task's id.
    pub attempt: Option<u32>,
}

impl<'a> Id<'a> {
    pub(super) fn attempt(text: &'a str) -> Option<Id<'a>> {
        let (task, attempt) = text.rsplit_once('_')?;
        let attempt = Some(attempt.parse().ok()?);
        Some(Id { attempt, ..Id::parse(task.strip_prefix("attempt_")?)? })
    }

    pub(super) fn task(text: &'a str) -> Option<Id<'a>> {
        Id::parse(text.strip_prefix("task_")?)
    }

    fn parse(text: &'a str) -> Option<Id<'a>> {
        let (rest, task) = text.rsplit_once('_')?;
        let (job, letter) = rest.rsplit_once('_')?;
        let &[letter] = letter.as_bytes() else {
            return None;
        };
        Some(Id { job, letter, task: task.parse().ok()?, attempt: None })
    }

    /// Returns the kind of task according to the id's letter.
    pub(super) fn kind(&self) -> Kind {
        match self.letter {
            b'm' => Kind::Map,
            b'r' => Kind::Reduce,
            _ => Kind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_parsed() {
        let id = Id::attempt("attempt_1329348432655_0001_m_000003_1000").unwrap();
        assert_eq!(id, Id { job: "1329348432655_0001", letter: b'm', task: 3, attempt: Some(1000) });
        let id = Id::task("task_local_r_0001_r_000012").unwrap();
        assert_eq!((id.job, id.kind(), id.task), ("local_r_0001", Kind::Reduce, 12));
        for bad in ["", "attempt_", "attempt_1_2_m_3", "task_1_2_mm_3_0", "attempt_1_2_m_3_99999999999", "x_1_2_m_3_0"]
        {
            assert!(Id::attempt(bad).is_none_or(|id| id.attempt == Some(3) && id.letter == b'2'), "{bad}");
        }
        assert_eq!(Kind::of_type("JOB_CLEANUP"), Kind::Other);
    }
}
