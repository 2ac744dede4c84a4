//! How a command fails, and with which exit code.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use hindmost_sim::driver::SimulationError;

/// Why a command did not succeed.
pub enum Failure {
    /// What was given can't be used: exit code 2.
    Input(anyhow::Error),
    /// The work itself failed: exit code 1.
    Work(anyhow::Error),
    /// Ctrl-C: exit code 130.
    Interrupted,
    /// Whoever read our output has gone; nothing to complain about.
    ClosedPipe,
}

/// The result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// An input that can't be used, and why.
    pub fn input(error: impl Display) -> Failure {
        Failure::Input(anyhow::anyhow!("{error}"))
    }

    /// Work that failed, and why.
    pub fn work(error: impl Display) -> Failure {
        Failure::Work(anyhow::anyhow!("{error}"))
    }

    /// Says on stderr what went wrong.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::Input(error) => {
                say(&format!("error: {error:#}"));
                ExitCode::from(2)
            }
            Failure::Work(error) => {
                say(&format!("error: {error:#}"));
                ExitCode::from(1)
            }
            Failure::Interrupted => {
                say("interrupted");
                ExitCode::from(130)
            }
            Failure::ClosedPipe => ExitCode::SUCCESS,
        }
    }
}

/// A line on stderr, where somebody reads it: that it is closed or full is no reason to end otherwise.
pub fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(io::stderr(), "{line}");
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe { Failure::ClosedPipe } else { Failure::work(error) }
    }
}

impl From<SimulationError> for Failure {
    fn from(error: SimulationError) -> Failure {
        match error {
            SimulationError::Interrupted => Failure::Interrupted,
            SimulationError::Workload(_)
            | SimulationError::NoDuration { .. }
            | SimulationError::TooFewDurations { .. }
            | SimulationError::DoesNotFit { .. }
            | SimulationError::BeyondMaximum { .. }
            | SimulationError::TooLarge(_) => Failure::input(error),
            SimulationError::Record(_) | SimulationError::Stuck(_) | SimulationError::Output(_) => Failure::work(error),
        }
    }
}
