//! The ways in which a command fails, and their exit codes.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use hindmost_sim::driver::SimulationError;

/// Why a command did not succeed.
pub enum Failure {
    /// The arguments or input files can't be used: exit code 2.
    Input(anyhow::Error),
    /// The work failed: exit code 1.
    Work(anyhow::Error),
    /// The user pressed Ctrl-C: exit code 130.
    Interrupted,
    /// The work ended with an exit code of its own, after its messages.
    Code(u8),
    /// The reader of stdout closed the pipe: exit code 0, without a message.
    ClosedPipe,
}

/// The result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Returns the failure for an input that can't be used. `error` says why.
    pub fn input(error: impl Display) -> Failure {
        Failure::Input(anyhow::anyhow!("{error}"))
    }

    /// Returns the failure for work that failed. `error` says why.
    pub fn work(error: impl Display) -> Failure {
        Failure::Work(anyhow::anyhow!("{error}"))
    }

    /// Prints the error to stderr and returns the exit code.
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
            Failure::Code(code) => ExitCode::from(code),
            Failure::ClosedPipe => ExitCode::SUCCESS,
        }
    }
}

/// Prints a line to stderr. A closed or full stderr is ignored, so that it does not change the exit code.
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
            | SimulationError::NodesLost(_)
            | SimulationError::NodesFail { .. }
            | SimulationError::TooLarge(_) => Failure::input(error),
            SimulationError::Record(_) | SimulationError::Stuck(_) | SimulationError::Output(_) => Failure::work(error),
        }
    }
}
