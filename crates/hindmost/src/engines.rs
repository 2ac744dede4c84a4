//! The engine of a run and its nodes, as the command line chooses them.

use std::path::Path;
use std::sync::atomic::AtomicU32;

use hindmost_run::engine::{Engine, Local, NodeOffer, NodeSpeed, Speeds, check_names, give_speeds, parse_nodes};
use hindmost_run::store::{BegunWith, Store};

pub use hindmost_run::engine::Purpose;

use crate::cli::{EngineArgs, EngineName};
use crate::failure::{Failure, Outcome};

use hindmost_run::engine::slurm;

/// The engine of a run and its nodes.
#[derive(Clone)]
pub struct Chosen {
    /// The nodes in the order of their ids.
    pub nodes: Vec<NodeOffer>,
    /// True if the user has named nodes: then a resumed run does not use those with which it began.
    pub given: bool,
    /// Speeds that the user has given on the command line.
    speeds: Speeds,
    /// True if the nodes of an earlier process of the run are still to be taken.
    resumes: bool,
    engine: EngineName,
    slurm_args: Vec<String>,
    cluster: Option<slurm::Cluster>,
}

impl Chosen {
    /// Returns engine `local` with these nodes.
    pub fn local(nodes: Vec<NodeOffer>, given: bool) -> Chosen {
        Chosen {
            nodes,
            given,
            speeds: Speeds::new(),
            resumes: false,
            engine: EngineName::Local,
            slurm_args: Vec::new(),
            cluster: None,
        }
    }

    /// True if the nodes of a run are those of a cluster. `recorded` are the options of the run that is resumed.
    pub fn is_of_cluster(args: &EngineArgs, recorded: Option<&BegunWith>) -> bool {
        let was_slurm = recorded.and_then(|begun| begun.engine.as_deref()) == Some(EngineName::Slurm.name());
        args.engine.map_or(was_slurm, |engine| engine == EngineName::Slurm)
    }

    /// Returns the engine of a run and its nodes. `named` is the value of `--nodes`, `local` those of engine `local` without it.
    /// `recorded` are the options of the run that is resumed. Of a cluster's nodes, those are not taken for which `is_useful` is
    /// false.
    pub fn of(
        args: &EngineArgs,
        named: Option<&str>,
        local: Option<&str>,
        recorded: Option<BegunWith>,
        is_useful: &dyn Fn(&NodeOffer) -> bool,
    ) -> Outcome<Chosen> {
        let was_slurm = recorded.as_ref().and_then(|begun| begun.engine.as_deref()) == Some("slurm");
        let begun = if was_slurm { EngineName::Slurm } else { EngineName::Local };
        let engine = args.engine.unwrap_or(if recorded.is_some() { begun } else { EngineName::Local });
        if recorded.is_some() && engine != begun {
            return Err(Failure::input(format!(
                "this run was begun with engine {} and can only be resumed with it: leave --engine out, or run the job in a new folder \
                 (--out DIR)",
                begun.name()
            )));
        }
        if engine == EngineName::Local {
            if !args.slurm_args.is_empty() {
                return Err(Failure::input("--slurm-args are options of engine slurm: add --engine slurm"));
            }
            let resumes = recorded.is_some() && named.is_none();
            let nodes = parse_nodes(named.or(local)).map_err(Failure::input)?;
            return Ok(Chosen { resumes, ..Chosen::local(nodes, named.is_some()) });
        }
        Chosen::slurm(args, named, recorded.filter(|_| was_slurm), is_useful)
    }

    fn slurm(
        args: &EngineArgs,
        named: Option<&str>,
        recorded: Option<BegunWith>,
        is_useful: &dyn Fn(&NodeOffer) -> bool,
    ) -> Outcome<Chosen> {
        let mut slurm_args: Vec<String> = Vec::new();
        for text in &args.slurm_args {
            slurm_args.extend(text.split_whitespace().map(str::to_owned));
        }
        let cluster = match recorded.filter(|_| named.is_none()) {
            Some(begun) => {
                let args = if slurm_args.is_empty() { begun.slurm_args } else { slurm_args };
                slurm::Cluster::recorded(begun.nodes, args).map_err(Failure::input)?
            }
            None => slurm::Cluster::choose(named, &slurm_args, is_useful).map_err(Failure::input)?,
        };
        Ok(Chosen {
            nodes: cluster.offers.clone(),
            given: named.is_some(),
            speeds: Speeds::new(),
            resumes: false,
            engine: EngineName::Slurm,
            slurm_args: cluster.args.clone(),
            cluster: Some(cluster),
        })
    }

    /// Gives the nodes their speeds: those of the job file, and those of the command line, which outrank them. A job file may name
    /// nodes and features that this run does not have.
    ///
    /// # Errors
    /// If the command line names what is neither a node nor a feature, or if a node's features have different speeds.
    pub fn set_speeds(&mut self, given: &[NodeSpeed], of_job: &Speeds) -> Outcome {
        self.speeds = given.iter().map(|one| (one.name.clone(), one.speed)).collect();
        if !self.resumes {
            self.check_speeds()?;
        }
        let mut speeds = of_job.clone();
        speeds.extend(self.speeds.clone());
        give_speeds(&mut self.nodes, &speeds).map_err(Failure::input)
    }

    /// Takes the nodes with which a run was begun. Speeds of the command line outrank theirs.
    ///
    /// # Errors
    /// Those of [`Chosen::set_speeds`].
    pub fn take_recorded(&mut self, nodes: Vec<NodeOffer>) -> Outcome {
        self.nodes = nodes;
        self.check_speeds()?;
        give_speeds(&mut self.nodes, &self.speeds).map_err(Failure::input)
    }

    fn check_speeds(&self) -> Outcome {
        check_names(&self.nodes, &self.speeds).map_err(|error| Failure::input(format!("--node-speed: {error}")))
    }

    /// True if nodes are other machines, so that the run's folder must be on a shared file system.
    pub fn is_shared(&self) -> bool {
        self.engine == EngineName::Slurm
    }

    /// Keeps the first `count` nodes.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn take(&mut self, count: usize) -> Outcome {
        if self.nodes.len() < count {
            let have = self.nodes.len();
            return Err(Failure::input(format!(
                "{count} nodes are needed, but Slurm has only {have} to give: `sinfo` shows them"
            )));
        }
        self.nodes.truncate(count);
        Ok(())
    }

    /// Sets the number of cpus of each node.
    pub fn set_cpus(&mut self, cpus: f64) {
        for node in &mut self.nodes {
            node.capacity.insert(hindmost_core::resources::CPUS.to_owned(), cpus);
        }
    }

    /// Returns the name of the engine and its options, for the record of the run.
    pub fn recorded(&self) -> (Option<String>, Vec<String>) {
        let name = (self.engine != EngineName::Local).then(|| self.engine.name().to_owned());
        (name, self.slurm_args.clone())
    }

    /// Opens the engine for a run. `store` is the folder of the run, `say` receives messages for the user.
    pub fn open(
        mut self,
        purpose: &Purpose,
        store: &Store,
        stop_requests: &AtomicU32,
        say: &mut dyn FnMut(&str),
    ) -> Outcome<Opened> {
        if let Some(mut cluster) = self.cluster.take() {
            cluster.offers = self.nodes;
            let folder = store.folder().join(".hindmost");
            let opened = slurm::Slurm::open(&cluster, &store.run(), &folder, purpose, stop_requests, say);
            return match opened {
                Ok(engine) => Ok(Opened::Slurm(Box::new(engine))),
                Err(slurm::OpenError::Interrupted) => Err(Failure::Interrupted),
                Err(error) => Err(Failure::work(error)),
            };
        }
        let local = Local::new(self.nodes);
        let local = local.map_err(|error| Failure::work(format!("this machine can't run attempts: {error}")))?;
        Ok(Opened::Local(Box::new(local)))
    }
}

/// An engine that is ready to run attempts.
pub enum Opened {
    /// Engine `local`.
    Local(Box<Local>),
    /// Engine `slurm`.
    Slurm(Box<slurm::Slurm>),
}

impl Opened {
    /// Returns the engine.
    pub fn engine(&mut self) -> &mut dyn Engine {
        match self {
            Opened::Local(local) => &mut **local,
            Opened::Slurm(slurm) => &mut **slurm,
        }
    }

    /// Gives back what the engine holds. Returns a text about what is left.
    pub fn close(&mut self) -> Option<String> {
        match self {
            Opened::Local(_) => None,
            Opened::Slurm(slurm) => slurm.give_back(),
        }
    }
}

/// Runs a step of engine `slurm` if the command line of this process is that of a step. Returns its exit code.
pub fn step() -> Option<std::process::ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != slurm::STEP_COMMAND {
        return None;
    }
    let words: Vec<std::ffi::OsString> = words.collect();
    Some(match slurm::run_step(&words, crate::stop::presses()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            crate::failure::say(&error);
            std::process::ExitCode::FAILURE
        }
    })
}

/// Returns the folder for temporary files of a run if the user names none: on a cluster the current folder, because `/tmp` of each
/// node is its own.
pub fn temporary_place(is_shared: bool) -> std::path::PathBuf {
    if is_shared { Path::new(".").to_owned() } else { hindmost_run::engine::temporary_place() }
}
