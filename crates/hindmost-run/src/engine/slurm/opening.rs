//! Opens the engine: finds or makes the allocations of a run, and checks that its nodes see its folder.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::super::clock::RunClock;
use super::super::{GPUS, Purpose, RunIdentity};
use super::allocation::{self, Answer, Requested, Terms};
use super::cluster::Cluster;
use super::commands::{self, SlurmError};
use super::observer::Snapshot;
use super::step::Fault;
use super::{Place, Slurm, own, step};

/// Time after the first grant within which the others are waited for. Nodes that are granted later join the run.
const OTHERS: Duration = Duration::from_secs(5);
/// Time after which the user is notified that allocations wait.
const QUIET: Duration = Duration::from_secs(3);
/// Time for which the controller, or all nodes, may fail to answer at the start.
const PATIENCE: Duration = Duration::from_mins(1);
/// Time for which checks are repeated that say nothing about their nodes.
const UNCLEAR: Duration = Duration::from_secs(10);

/// An engine that could not be opened. Its allocations have been given back.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Slurm's commands fail.
    #[error(transparent)]
    Slurm(#[from] SlurmError),
    /// Nodes can't be used.
    #[error("{0}")]
    Nodes(String),
    /// The user has requested to stop.
    #[error("interrupted")]
    Interrupted,
    /// The system refuses something.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Returns what the user is to know of an `InactiveLimit` of this many seconds.
fn inactive_limit_in_words(seconds: u64) -> String {
    format!(
        "Slurm's InactiveLimit is {seconds} s here: Slurm may end an allocation whose salloc does not answer for so long, and Hindmost's \
         salloc ends at once; tasks that this cuts off start again. The limit does not apply to batch jobs, so if allocations end, run \
         hindmost in one: sbatch --nodes=N --exclusive --wrap 'hindmost run …'"
    )
}

impl Slurm {
    /// Makes the allocations of a run and checks the nodes. `folder` is an existing folder below the run's folder. `say` receives
    /// messages for the user.
    ///
    /// # Errors
    /// If no node can be used, or the user requests to stop.
    pub fn open(
        cluster: &Cluster,
        run: &RunIdentity,
        folder: &Path,
        purpose: &Purpose,
        stop_requests: &AtomicU32,
        say: &mut dyn FnMut(&str),
    ) -> Result<Slurm, OpenError> {
        let names: Vec<&str> = cluster.offers.iter().map(|offer| offer.name.as_str()).collect();
        let patience = if purpose.is_done { Duration::ZERO } else { PATIENCE };
        let (snapshot, unanswered) = match Snapshot::take_within(&names.join(","), patience) {
            Err(error) if purpose.is_done => (Snapshot::empty(), Some(error)),
            taken => (taken?, None),
        };
        if let Some(error) = &unanswered {
            say(&format!(
                "Slurm does not answer ({error}), so it is unknown whether allocations or steps of this run are left; `squeue --me` \
                 shows them once it answers"
            ));
        }
        let folder = own::create(folder)?;
        let name = format!("hindmost-{}", purpose.name);
        let (comment, program) = (own::comment(&folder)?, std::env::current_exe()?);
        let terms = Terms { args: cluster.args.clone(), name, comment, folder: folder.clone(), program };
        let places = cluster.offers.iter().map(|offer| {
            let gpus = offer.capacity.get(GPUS).copied().unwrap_or(0.0) as usize;
            Place::new(offer.name.clone(), if purpose.wants_gpus { gpus } else { 0 })
        });
        let mut slurm = Slurm::new(cluster, run, terms, places.collect(), folder, snapshot)?;
        slurm.is_unanswered = unanswered.is_some();
        // It takes a moment, in which the allocations are made. It matters only for allocations that `salloc` has requested.
        let requests = cluster.enclosing.is_none() && !purpose.is_done;
        let limit = requests.then(|| std::thread::spawn(commands::inactive_limit));
        let opened =
            slurm.allocate(purpose.is_done, stop_requests, say).and_then(|()| slurm.check_nodes(stop_requests, say));
        opened.inspect_err(|error| {
            // The user wants all of it to end.
            if matches!(error, OpenError::Interrupted) {
                slurm.go_on();
            }
            if let Some(left) = slurm.give_back() {
                say(&left);
            }
        })?;
        if let Some(Ok(Ok(limit @ 1..))) = limit.map(std::thread::JoinHandle::join) {
            say(&inactive_limit_in_words(limit));
        }
        for at in 0..slurm.places.len() {
            slurm.keep(at);
        }
        slurm.report_missing();
        // The time in Slurm's queue is no part of the run.
        slurm.clock = RunClock::new();
        slurm.observer.look();
        Ok(slurm)
    }

    fn allocate(
        &mut self,
        is_done: bool,
        stop_requests: &AtomicU32,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), OpenError> {
        if is_done && self.is_unanswered {
            return Ok(());
        }
        if let Some(job) = self.enclosing {
            let of_job = super::nodes::of_allocation(job)?;
            for place in &mut self.places {
                if of_job.iter().any(|offer| offer.name == place.name) {
                    place.grant(job);
                }
            }
            let all: Vec<&str> = self.places.iter().map(|place| place.name.as_str()).collect();
            return if self.places.iter().any(Place::is_up) {
                Ok(())
            } else {
                Err(OpenError::Nodes(format!("allocation {job} has none of the run's nodes {}", all.join(", "))))
            };
        }
        self.find_earlier();
        if is_done {
            self.go_on();
            // If something is to run nevertheless, the loss of these nodes is noticed, and they are requested.
            return Ok(());
        }
        let mut refused = Vec::new();
        for place in self.places.iter_mut().filter(|place| place.job.is_none()) {
            match allocation::request(&place.name, place.gpus.len() as u32, &self.terms) {
                Ok(requested) => place.requested = Some(requested),
                Err(error) => return Err(OpenError::Nodes(format!("salloc can't be started: {error}"))),
            }
        }
        let (begin, mut first, mut said) = (Instant::now(), None, Duration::ZERO);
        loop {
            for place in &mut self.places {
                match place.requested.as_mut().map(Requested::answer) {
                    Some(Answer::Granted(id)) => place.grant_kept(id),
                    Some(Answer::Refused(why)) => {
                        place.requested = None;
                        refused.push(format!("{}: {why}", place.name));
                    }
                    Some(Answer::Waits) | None => {}
                }
            }
            let waits: Vec<&str> =
                self.places.iter().filter(|place| place.requested.is_some()).map(|place| place.name.as_str()).collect();
            if first.is_none() && self.places.iter().any(Place::is_up) {
                first = Some(Instant::now());
            }
            if stop_requests.load(Ordering::Relaxed) > 0 {
                return Err(OpenError::Interrupted);
            }
            if waits.is_empty() || first.is_some_and(|first: Instant| first.elapsed() > OTHERS) {
                break;
            }
            if begin.elapsed() > QUIET + said {
                say(&format!("waiting for Slurm to grant {} (squeue --me shows why; Ctrl-C stops)", waits.join(", ")));
                said = begin.elapsed() * 2 + Duration::from_secs(30);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        if first.is_none() {
            return Err(OpenError::Nodes(format!("Slurm grants none of the run's nodes: {}", refused.join("; "))));
        }
        for why in &refused {
            say(&format!("Slurm does not grant {why}; the run uses the other nodes"));
        }
        Ok(())
    }

    /// Checks all nodes at once. If a node has no such program, all of them get a copy in the run's folder.
    fn check_nodes(&mut self, stop_requests: &AtomicU32, say: &mut dyn FnMut(&str)) -> Result<(), OpenError> {
        let begin = Instant::now();
        let mut failed = self.failed_checks();
        let up = self.places.iter().filter(|place| place.is_up()).count();
        // A controller that has just been started may refuse steps for a while, or start none for longer.
        let may_recover = |failed: &[(usize, Fault)]| {
            let is_unclear = failed.iter().any(|(_, fault)| matches!(fault, Fault::Unclear(_)));
            let is_silent = !failed.is_empty()
                && failed.len() == up
                && failed.iter().all(|(_, fault)| matches!(fault, Fault::Silent(_) | Fault::Unclear(_)));
            is_unclear && begin.elapsed() < UNCLEAR || is_silent && begin.elapsed() < PATIENCE
        };
        let mut has_said = false;
        while may_recover(&failed) {
            if stop_requests.load(Ordering::Relaxed) > 0 {
                return Err(OpenError::Interrupted);
            }
            if let Some((_, Fault::Silent(why))) = failed.first().filter(|_| !has_said) {
                say(&format!("{why}; trying again for {} s (Ctrl-C stops)", PATIENCE.as_secs()));
                has_said = true;
            }
            std::thread::sleep(Duration::from_millis(500));
            failed = self.failed_checks();
        }
        // It may do so for as long as attempts of an earlier process of the run continue, which is no fault of the node.
        let (unclear, mut failed): (Vec<_>, Vec<_>) =
            failed.into_iter().partition(|(_, fault)| matches!(fault, Fault::Unclear(_)));
        for (at, why) in unclear {
            say(&format!("node {} could not be checked: {why}", self.places[at].name));
        }
        if failed.iter().any(|(_, fault)| matches!(fault, Fault::NoProgram(_))) {
            self.program = own::copy_program(&self.program, &self.folder)?;
            failed = self.failed_checks();
        }
        if !failed.is_empty() && failed.len() == up {
            let why = failed.into_iter().next().map(|(_, fault)| fault.to_string());
            return Err(OpenError::Nodes(why.unwrap_or_default()));
        }
        // A node that does not see the folder is a mistake in the choice of the folder, not a node that may return.
        if let Some((_, fault)) = failed.iter().find(|(_, fault)| matches!(fault, Fault::NotShared(_))) {
            return Err(OpenError::Nodes(fault.to_string()));
        }
        for (at, why) in failed {
            say(&format!("node {} can't be used yet: {why}", self.places[at].name));
            self.places[at].lose();
        }
        Ok(())
    }

    /// Returns the nodes whose checks fail, with the reasons.
    fn failed_checks(&self) -> Vec<(usize, Fault)> {
        let up = self.places.iter().enumerate().filter(|(_, place)| place.is_up());
        let threads: Vec<_> = up
            .filter_map(|(at, place)| {
                let (job, node, name) = (place.job?, place.name.clone(), self.check_name());
                let (program, folder) = (self.program.clone(), self.folder.clone());
                Some((at, std::thread::spawn(move || step::check(job, &node, &name, &program, &folder))))
            })
            .collect();
        let checked = threads.into_iter().map(|(at, thread)| (at, thread.join().unwrap_or(Ok(()))));
        checked.filter_map(|(at, checked)| Some((at, checked.err()?))).collect()
    }
}
