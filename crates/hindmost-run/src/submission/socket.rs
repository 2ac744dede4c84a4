//! The Unix socket on which a run accepts jobs: only its owner can open it.

use std::fs;
use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, fchmod};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use rustix::process::geteuid;
use thiserror::Error;

use super::desk::Desk;
use super::protocol::{LONGEST_REQUEST, Reply, read_line, write_line};

/// Largest number of clients at the same time; a client that waits for its job is one.
const MOST_CLIENTS: u32 = 300;
/// Number of clients that may wait to be accepted.
const BACKLOG: i32 = 64;
/// Longest time that a client may take to send its request or to read a reply.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the listening thread checks whether the run has ended.
const TURN: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
/// Longest time that the end of a run waits for its last replies to be sent.
const LAST_REPLIES: Duration = Duration::from_secs(2);

/// Why a run can't accept jobs on a socket.
#[derive(Debug, Error)]
pub enum SocketError {
    /// Another run accepts jobs there.
    #[error("another run accepts jobs on {}: choose another path, or stop that run", .0.display())]
    InUse(PathBuf),
    /// The path is taken by something else.
    #[error("{} is no socket: choose another path, or remove it", .0.display())]
    NoSocket(PathBuf),
    /// The path is too long for a socket.
    #[error("the path of a socket has at most 107 bytes, but {} is longer: choose a shorter one", .0.display())]
    TooLong(PathBuf),
    /// The folder of the path does not exist.
    #[error("can't accept jobs on {}: the folder {} does not exist; create it, or choose another path", .0.display(), folder_of(.0).display())]
    NoFolder(PathBuf),
    /// The socket can't be created.
    #[error("can't accept jobs on {}: {error}", path.display())]
    Io {
        /// Path of the socket.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

/// Clients that are served now.
#[derive(Default)]
struct Clients {
    count: Mutex<u32>,
    left: Condvar,
}

impl Clients {
    fn enter(self: &Arc<Self>) -> Option<Served> {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        if *count >= MOST_CLIENTS {
            return None;
        }
        *count += 1;
        Some(Served(Arc::clone(self)))
    }
}

/// A client that is served. Dropping this makes place for another.
struct Served(Arc<Clients>);

impl Drop for Served {
    fn drop(&mut self) {
        *self.0.count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.left.notify_all();
    }
}

/// A socket on which a run accepts jobs. Dropping it removes the socket.
pub struct Listener {
    path: PathBuf,
    /// Device and inode of the socket: another run may have its socket at the path by the end of this one.
    file: Option<(u64, u64)>,
    desk: Desk,
    ends: Arc<AtomicBool>,
    clients: Arc<Clients>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Checks that a socket can be created at a path, and creates nothing.
    ///
    /// # Errors
    /// If the path is in use, too long, or in no folder.
    pub fn check(path: &Path) -> Result<(), SocketError> {
        SocketAddrUnix::new(path).map_err(|_| SocketError::TooLong(path.to_owned()))?;
        if !folder_of(path).is_dir() {
            return Err(SocketError::NoFolder(path.to_owned()));
        }
        is_left(path).map(drop)
    }

    /// Creates the socket and accepts jobs for a desk, in a thread. A socket that an ended run has left is replaced.
    ///
    /// # Errors
    /// If the path is in use or the socket can't be created.
    pub fn start(path: &Path, desk: Desk) -> Result<Listener, SocketError> {
        let io = |error: io::Error| SocketError::Io { path: path.to_owned(), error };
        Listener::check(path)?;
        let address = SocketAddrUnix::new(path).map_err(|_| SocketError::TooLong(path.to_owned()))?;
        remove_left(path)?;
        let listener = private(&address).map_err(io)?;
        let file = identity(path);
        let (ends, clients) = (Arc::new(AtomicBool::new(false)), Arc::new(Clients::default()));
        let accepting =
            Accepting { listener, desk: desk.clone(), ends: Arc::clone(&ends), clients: Arc::clone(&clients) };
        let thread = thread::Builder::new().name("submissions".to_owned()).spawn(move || accepting.work());
        let thread = Some(thread.map_err(io)?);
        Ok(Listener { path: path.to_owned(), file, desk, ends, clients, thread })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.desk.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if self.file.is_some() && identity(&self.path) == self.file {
            let _ = fs::remove_file(&self.path);
        }
        let count = self.clients.count.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.clients.left.wait_timeout_while(count, LAST_REPLIES, |count| *count > 0));
    }
}

/// Returns the folder in which a path is.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns device and inode of the file at a path; `None` if there is none.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Removes a socket that nobody listens on any more.
fn remove_left(path: &Path) -> Result<(), SocketError> {
    if is_left(path)? {
        fs::remove_file(path).map_err(|error| SocketError::Io { path: path.to_owned(), error })?;
    }
    Ok(())
}

/// True if a path has a socket that nobody listens on any more; false if nothing is there.
///
/// # Errors
/// If something else has the path.
fn is_left(path: &Path) -> Result<bool, SocketError> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(false) };
    if !found.file_type().is_socket() {
        return Err(SocketError::NoSocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(true),
        Ok(_) => Err(SocketError::InUse(path.to_owned())),
        Err(error) => Err(SocketError::Io { path: path.to_owned(), error }),
    }
}

/// Returns a listening socket that only its owner can open from the moment it exists: its mode is set before it has a name.
fn private(address: &SocketAddrUnix) -> io::Result<UnixListener> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, address)?;
    listen(&socket, BACKLOG)?;
    let listener = UnixListener::from(socket);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The thread that accepts clients.
struct Accepting {
    listener: UnixListener,
    desk: Desk,
    ends: Arc<AtomicBool>,
    clients: Arc<Clients>,
}

impl Accepting {
    fn work(self) {
        while !self.ends.load(Ordering::Relaxed) {
            let mut readable = [PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN)];
            // An interrupted wait is tried again.
            let _ = poll(&mut readable, Some(&TURN));
            while let Ok((client, _)) = self.listener.accept() {
                self.serve(client);
            }
        }
    }

    /// Serves a client in a thread. A client that can't be served is sent away, so that it need not wait.
    fn serve(&self, client: UnixStream) {
        let prepared = client.set_nonblocking(false).and_then(|()| client.set_write_timeout(Some(PATIENCE)));
        if prepared.is_err() {
            return;
        }
        if !is_own(&client) {
            let reason = "only the user who has started the run, and root, may submit jobs to it".to_owned();
            let _ = write_line(&client, &Reply::Refused { reason });
            return;
        }
        let Some(served) = self.clients.enter() else {
            let reason = format!("the run serves {MOST_CLIENTS} clients already: try again later");
            let _ = write_line(&client, &Reply::Refused { reason });
            return;
        };
        let desk = self.desk.clone();
        let _ = thread::Builder::new().name("client".to_owned()).spawn(move || {
            // A client that has gone away is no error: its job runs all the same.
            let _ = converse(&client, &desk);
            drop(served);
        });
    }
}

/// True if the process at the other end belongs to the same user, or to root.
fn is_own(client: &UnixStream) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(client);
    peer.is_ok_and(|peer| peer.uid == geteuid() || peer.uid.is_root())
}

/// Reads from a client until a deadline, however slowly the client sends.
pub(super) struct Until<'a> {
    pub(super) client: &'a UnixStream,
    pub(super) deadline: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let late = || {
            io::Error::new(io::ErrorKind::TimedOut, format!("a request must arrive within {} s", PATIENCE.as_secs()))
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late());
        }
        self.client.set_read_timeout(Some(left))?;
        (&mut &*self.client).read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => late(),
            _ => error,
        })
    }
}

/// Reads the request of a client and replies.
fn converse(client: &UnixStream, desk: &Desk) -> io::Result<()> {
    let reader = Until { client, deadline: Instant::now() + PATIENCE };
    let request = match read_line(BufReader::new(reader), LONGEST_REQUEST) {
        Ok(Some(request)) => request,
        Ok(None) => return Ok(()),
        Err(error) => return write_line(client, &Reply::Refused { reason: error.to_string() }),
    };
    let (reply, end) = desk.handle(request);
    write_line(client, &reply)?;
    match end.map(|end| end.recv()) {
        None => Ok(()),
        Some(Ok(reply)) => write_line(client, &reply),
        Some(Err(_)) => {
            let reason = "the run has ended before the job: resume the run to continue it".to_owned();
            write_line(client, &Reply::Refused { reason })
        }
    }
}
