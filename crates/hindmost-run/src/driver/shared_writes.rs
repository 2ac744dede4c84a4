//! Keeps two attempts of a task from writing one file, by what their processes have open for writing: the second line of defence where
//! the text of a command does not show that it writes outside its attempt's folder (`job_file/writes/`).
//!
//! - A copy does not start if another attempt of its task was seen to write a file that is not its own. Its task then gets no
//!   copies. If the attempt hangs, it may be stopped so that its task starts again.
//! - If an attempt succeeds, the others of its task are stopped in their tracks. If one of them has such a file open, or both were
//!   seen to write one file, the success does not count: the other one may have truncated what it has written. Both are stopped,
//!   and the task starts again alone.
//! - If two attempts have one file open for writing while both run, both are stopped, and the task starts again alone: what either has
//!   written may have destroyed what the other one has.
//! - If an attempt that has written such a file is stopped because another one goes on, that one does not count either.
//! - If such a file is open so that writes add to what is there (at its end, or for reading too, as a database is), starting again would
//!   write twice what an attempt has written already. The task then fails for good, and a message says which file to look at.
//! - A copy does not start either if a file that the command names has changed since another attempt of its task began (`untouched.rs`).
//!
//! What is opened, written and closed between two looks is not seen if the command does not name it, nor what processes on other
//! machines do, nor what a system call does that goes on for ten seconds after its process was to stop, such as one that waits for a file
//! server that does not answer.

use std::path::PathBuf;

use hindmost_core::cluster::{Attempt, Phase, Task};
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::record::Event;

use super::attempts::{Kill, Running};
use super::untouched::Untouched;
use super::{Driver, RunError};
use crate::engine::WrittenFile;
use crate::job_file::Copies;

impl Driver<'_> {
    /// Returns the running attempts of a task, if what they write is watched.
    fn watched(&self, task: TaskId) -> Vec<AttemptId> {
        if self.jobs[task.job].phase(task).copies != Copies::Allowed {
            return Vec::new();
        }
        let running = |id: &AttemptId| self.attempts.get(*id).is_some_and(|running| running.kill().is_none());
        self.session.cluster().copies(task).map(Attempt::id).filter(running).collect()
    }

    /// Returns a file outside its folder that an attempt has open for writing, and that is no scratch file. One that a further attempt
    /// would add to comes first.
    fn written_by(&self, attempt: AttemptId) -> Option<WrittenFile> {
        self.engine
            .written_files(attempt)
            .into_iter()
            .filter(|file| !file.is_scratch)
            .min_by_key(|file| file.is_replaced)
    }

    /// Notes what an attempt has open for writing.
    pub(super) fn note_written(&mut self, attempt: AttemptId) {
        if self.jobs[attempt.task.job].phase(attempt.task).copies == Copies::Allowed {
            let files = self.engine.written_files(attempt);
            self.attempts.note_written(attempt, files);
        }
    }

    /// Returns a file outside its folder that an attempt has or has had open for writing.
    fn has_written(&self, attempt: AttemptId) -> Option<WrittenFile> {
        let noted = self.attempts.get(attempt)?.wrote.iter().filter(|file| !file.is_scratch).cloned();
        noted.chain(self.written_by(attempt)).min_by_key(|file| file.is_replaced)
    }

    /// Returns a file that another attempt of a task has open for writing, or that it was seen to write as the attempt with these
    /// files was.
    fn also_written(&self, wrote: &[WrittenFile], other: AttemptId) -> Option<WrittenFile> {
        let is_shared = |file: &&WrittenFile| wrote.iter().any(|own| own.place == file.place || own.path == file.path);
        let noted = self.attempts.get(other).into_iter().flat_map(|running| &running.wrote);
        noted.filter(is_shared).cloned().chain(self.written_by(other)).min_by_key(|file| file.is_replaced)
    }

    /// Notes that attempts of a task have written one file. Returns what happens to the task, for the message about it.
    fn note_shared(&mut self, task: TaskId, file: &WrittenFile) -> &'static str {
        let why = (!file.is_replaced).then(|| {
            format!(
                "two attempts have had {} open, which each adds to, so what is in it may be wrong: mend it before the task runs again, \
                 with --no-copies",
                file.path.display()
            )
        });
        let outcome = if why.is_some() { "the task has failed" } else { "the task starts again alone" };
        let known = self.shared.entry(task).or_default();
        if known.is_none() {
            *known = why;
        }
        outcome
    }

    /// Leaves a copy out if an attempt of its task writes a file that the copy would write too. Returns true if it is left out.
    pub(super) fn would_share(&mut self, copy: AttemptId) -> Result<bool, RunError> {
        let others = self.watched(copy.task);
        let found = others.iter().find_map(|id| Some((*id, self.has_written(*id)?)));
        let changed =
            others.iter().filter_map(|id| Some((*id, self.attempts.get(*id)?.untouched()?.changed()?.to_owned())));
        let changed = changed.filter(|_| found.is_none()).collect::<Vec<_>>();
        if found.is_none() && changed.is_empty() && !self.shared.contains_key(&copy.task) {
            return Ok(false);
        }
        if let Some((changer, path)) = changed.first() {
            let why = format!(
                "attempt {} may have changed {}, which a copy might change again; --copies allows it",
                changer.copy,
                path.display()
            );
            self.say_second(copy, "gets no copy", Some(&why));
        }
        // What an attempt has added to a file would be there twice.
        let may_restart = found.as_ref().is_some_and(|(_, file)| file.is_replaced);
        if let Some((writer, file)) = found {
            let why = format!(
                "attempt {} writes {}, which a copy might destroy; --copies allows it",
                writer.copy,
                file.path.display()
            );
            self.say_second(copy, "gets no copy", Some(&why));
        }
        self.clean(copy, false);
        self.waiting.forget(copy);
        self.happen(&Event::NoMoreCopies { task: copy.task, may_restart })?;
        self.happen(&Event::AttemptStopped { attempt: copy })?;
        Ok(true)
    }

    /// Looks at the other attempts of a task that has an attempt with exit code 0, which was seen to write some files. Returns the
    /// path of a file that one of them has open for writing and that the successful one may have written too, or that both were
    /// seen to write; `None` if the attempt counts.
    ///
    /// The others do nothing from now on, so none of them can still open the file after this look. The policy stops them; some
    /// policies keep attempts beside a winner, and these go on.
    pub(super) fn written_by_others(&mut self, attempt: AttemptId, wrote: &[WrittenFile]) -> Option<PathBuf> {
        if self.jobs[attempt.task.job].phase(attempt.task).copies != Copies::Allowed {
            return None;
        }
        let others = self.attempts.matching(|other, _| other.task == attempt.task && other != attempt);
        for other in &others {
            self.engine.freeze(*other);
        }
        let Some(file) = others.iter().find_map(|id| self.also_written(wrote, *id)) else {
            self.frozen.extend(others);
            return None;
        };
        // A process that resumes the run must not count it either.
        self.jobs[attempt.task.job].store.forget_end(attempt);
        let outcome = self.note_shared(attempt.task, &file);
        self.follower.message(&format!(
            "attempt {} of {} has ended well while another one writes {}, so it does not count, and {outcome} (--no-copies prevents this)",
            attempt.copy,
            self.full_name(attempt.task),
            file.path.display()
        ));
        for id in others {
            self.kill(id, Kill::SharedFile);
        }
        Some(file.path)
    }

    /// Lets the attempts go on that the policy keeps beside a winner.
    pub(super) fn thaw_kept(&mut self) {
        for attempt in std::mem::take(&mut self.frozen) {
            if self.attempts.get(attempt).is_some_and(|running| running.kill().is_none()) {
                self.engine.thaw(attempt);
            }
        }
    }

    /// Ends an attempt beside which another one of its task goes on. If it has written a file, the other one must not count: both
    /// are stopped, and the task starts again alone.
    pub(super) fn end_beside_another(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        self.engine.freeze(attempt);
        let Some(file) = self.has_written(attempt) else {
            self.end_loser(attempt);
            return Ok(());
        };
        let outcome = self.note_shared(attempt.task, &file);
        self.follower.message(&format!(
            "attempt {} of {} is stopped, but has written {}, which another one may have written too, so that one does not \
             count either, and {outcome} (--no-copies prevents this)",
            attempt.copy,
            self.full_name(attempt.task),
            file.path.display()
        ));
        self.happen(&Event::NoMoreCopies { task: attempt.task, may_restart: false })?;
        for id in self.attempts.matching(|id, _| id.task == attempt.task) {
            self.kill(id, Kill::SharedFile);
        }
        Ok(())
    }

    /// Stops the attempts of a task if two of them have one file open for writing.
    pub(super) fn end_if_they_share(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        if self.session.cluster().task(attempt.task).is_none_or(|task| task.running_copies() < 2) {
            return Ok(());
        }
        let all = self.watched(attempt.task);
        let own = if all.contains(&attempt) { self.engine.written_files(attempt) } else { Vec::new() };
        let others = all.iter().filter(|other| **other != attempt && !own.is_empty());
        let theirs: Vec<WrittenFile> = others.flat_map(|other| self.engine.written_files(*other)).collect();
        let shared = theirs.into_iter().filter(|their| own.iter().any(|file| file.place == their.place));
        let Some(shared) = shared.min_by_key(|file| file.is_replaced) else { return Ok(()) };
        let outcome = self.note_shared(attempt.task, &shared);
        self.follower.message(&format!(
            "two attempts of {} have {} open for writing, so both are stopped, and {outcome} (--no-copies prevents this)",
            self.full_name(attempt.task),
            shared.path.display()
        ));
        self.happen(&Event::NoMoreCopies { task: attempt.task, may_restart: false })?;
        for id in all {
            self.kill(id, Kill::SharedFile);
        }
        Ok(())
    }

    /// Returns what shows whether an attempt that starts now has changed files that its command names, if anything does.
    pub(super) fn untouched_before(&self, attempt: AttemptId) -> Option<Untouched> {
        let phase = self.jobs[attempt.task.job].phase(attempt.task);
        // What can't be frozen could change a file after the look.
        let is_watched =
            self.engine.can_freeze() && (phase.may_restart() || phase.copies == Copies::Allowed && phase.idempotent);
        is_watched.then(|| Untouched::before(phase, attempt.task.index)).flatten()
    }

    /// True if attempts of a task are only stopped for restarts, and not without a look at what they have changed.
    pub(super) fn is_looked_at_before_restarts(&self, task: TaskId) -> bool {
        let cluster = self.session.cluster();
        // Where there are copies, losers are stopped without a look.
        let gets_restarts = cluster.phase(task).is_some_and(Phase::may_only_restart)
            || cluster.task(task).is_some_and(Task::may_restart);
        gets_restarts && (self.engine.can_freeze() || self.restarts_until_it_changes(task))
    }

    /// True if attempts of a task may be stopped for a restart only as long as they have changed nothing that they do not write anew.
    pub(super) fn restarts_until_it_changes(&self, task: TaskId) -> bool {
        self.jobs[task.job].phase(task).restarts_until_it_changes()
    }

    /// Stops an attempt so that its task starts again. If the restart would do again what the attempt has done to a file, or if
    /// nobody can know, it goes on: then it counts when it ends.
    pub(super) fn stop_for_restart(&mut self, attempt: AttemptId, why: Option<&str>) {
        if !self.is_looked_at_before_restarts(attempt.task) {
            self.say_restart(attempt, why);
            self.kill(attempt, Kill::Decided);
            return;
        }
        self.engine.freeze(attempt);
        let open = self.engine.written_files(attempt);
        let untouched = self.attempts.get(attempt).and_then(Running::untouched);
        let waits = match untouched.map(|untouched| untouched.touched(&open).or_else(|| untouched.unknown(&open))) {
            None => Some("it may have changed its files already, which a restart would do again".to_owned()),
            Some(touched) => touched
                .map(|path| format!("it may have changed {} already, which a restart would do again", path.display())),
        };
        if let Some(waits) = waits {
            self.engine.thaw(attempt);
            self.say_second(attempt, "is waited for", Some(&waits));
            return;
        }
        self.say_restart(attempt, why);
        // What it would do on SIGTERM could change the files.
        self.kill_frozen(attempt);
    }

    /// Returns why a task can't begin again after attempts of it have written one file; `None` if it can.
    pub(super) fn spoiled(&self, task: TaskId) -> Option<String> {
        self.shared.get(&task).cloned().flatten()
    }
}
