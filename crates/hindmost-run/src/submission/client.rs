//! A client of a run: submits jobs through its socket.

use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::protocol::{LONGEST_REPLY, Reply, Request, read_line, write_line};

/// Longest time that a run may take to accept or refuse a job: it reads the job's inputs and opens its folder.
const PATIENCE: Duration = Duration::from_mins(5);

/// Why a request could not be sent.
#[derive(Debug, Error)]
pub enum ClientError {
    /// No run accepts jobs there.
    #[error(
        "no run accepts jobs on {}: start one with `hindmost run --listen {}`; one that waits for nodes of Slurm accepts them once it has \
         one", path.display(), path.display()
    )]
    NoRun {
        /// Path of the socket.
        path: PathBuf,
    },
    /// The connection failed.
    #[error("the run on {} can't be reached: {error}", path.display())]
    Io {
        /// Path of the socket.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The run ended without a reply.
    #[error("the run on {} has ended without a reply", .0.display())]
    Gone(PathBuf),
}

/// A connection to a run. It carries one request.
pub struct Client {
    path: PathBuf,
    replies: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the socket of a run and sends a request.
    ///
    /// # Errors
    /// If no run accepts jobs there, or the request can't be sent.
    pub fn send(path: &Path, request: &Request) -> Result<Client, ClientError> {
        let io = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ClientError::NoRun { path: path.to_owned() },
            _ => ClientError::Io { path: path.to_owned(), error },
        };
        let stream = UnixStream::connect(path).map_err(io)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(io)?;
        // A run that refuses a client may have closed the connection. Its reply says why.
        let sent = write_line(&stream, request);
        if let Err(error) = sent
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            return Err(io(error));
        }
        Ok(Client { path: path.to_owned(), replies: BufReader::new(stream) })
    }

    /// Returns the next reply.
    ///
    /// # Errors
    /// If the run has ended or sends something else.
    pub fn reply(&mut self) -> Result<Reply, ClientError> {
        match read_line(&mut self.replies, LONGEST_REPLY) {
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => Err(ClientError::Gone(self.path.clone())),
            Err(error) => Err(ClientError::Io { path: self.path.clone(), error }),
        }
    }

    /// Returns the reply that comes when a job has ended, however long it takes.
    ///
    /// # Errors
    /// If the run has ended or sends something else.
    pub fn end(&mut self) -> Result<Reply, ClientError> {
        let path = self.path.clone();
        self.replies.get_ref().set_read_timeout(None).map_err(|error| ClientError::Io { path, error })?;
        self.reply()
    }
}
