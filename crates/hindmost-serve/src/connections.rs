//! The connections of a server: one thread that waits for all of them at once.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::answer::{self, Read, Site};
use crate::document::Document;
use crate::{BREATH, LONGEST, LONGEST_REQUEST, MOST_CONNECTIONS, MOST_IDLE};

/// Largest size of a request.
const LARGEST_REQUEST: usize = 16 << 10;

/// How far a connection is.
enum Stage {
    /// It has sent nothing yet.
    Idle,
    /// Its request is not complete: what has arrived, and until when the rest must have arrived.
    Incomplete(Vec<u8>, Instant),
    /// It waits for the document, or for the headers of that answer alone.
    Awaiting { is_head: bool },
    /// The answer, and how much of it is sent.
    Answering(Vec<u8>, usize),
    /// Everything is sent. What the client has sent beyond its request is read, because closing the connection before could destroy the
    /// answer on its way.
    Ending,
}

struct Connection {
    stream: TcpStream,
    stage: Stage,
    /// When it is closed, whatever it does; `None` if it has sent nothing yet.
    until: Option<Instant>,
}

impl Connection {
    /// True if it takes one of the places.
    fn has_place(&self) -> bool {
        matches!(self.stage, Stage::Incomplete(..) | Stage::Awaiting { .. } | Stage::Answering(..))
    }

    /// Returns when it is closed if nothing happens.
    fn deadline(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Incomplete(_, until) => Some(*until),
            _ => self.until,
        }
    }

    /// Sends what can be sent. An error means that the connection is to be closed.
    fn send(&mut self) -> io::Result<()> {
        let Stage::Answering(bytes, sent) = &mut self.stage else { return Ok(()) };
        while *sent < bytes.len() {
            match self.stream.write(&bytes[*sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(more) => *sent += more,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.stream.shutdown(Shutdown::Write)?;
        self.stage = Stage::Ending;
        Ok(())
    }
}

/// The connections of a server, the oldest first, and what they share.
pub(crate) struct Connections {
    listener: TcpListener,
    /// Has ended when the server is to stop, and brings a byte when a document has been made.
    woken: UnixStream,
    /// The other end.
    waker: UnixStream,
    site: Site,
    document: Arc<Document>,
    /// Brings the document that a thread makes.
    making: Option<Receiver<Arc<[u8]>>>,
    open: VecDeque<Connection>,
    /// Until when no connection is accepted, after one could not be, for example because too many files are open.
    pause: Option<Instant>,
}

impl Connections {
    /// Makes a server of these parts. It stops when nothing more can be written to `waker`, the other end of `woken`.
    pub fn new(
        listener: TcpListener,
        (waker, woken): (UnixStream, UnixStream),
        site: Site,
        document: Arc<Document>,
    ) -> io::Result<Connections> {
        listener.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        Ok(Connections { listener, woken, waker, site, document, making: None, open: VecDeque::new(), pause: None })
    }

    /// Serves until the server is to stop. A document that is being made then is not waited for.
    pub fn serve(mut self) {
        while self.wait().is_ok() {
            match self.woken.read(&mut [0; 8]) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => return,
            }
            self.accept();
            self.advance();
            self.answer_with_document();
        }
    }

    /// Waits until something has happened.
    fn wait(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let is_paused = self.pause.is_some_and(|until| until > now);
        let has_place = self.has_place();
        let next = self.open.iter().filter_map(Connection::deadline).chain(self.pause.filter(|_| is_paused)).min();
        let time = next.map(|next| Timespec::try_from(next.saturating_duration_since(now) + Duration::from_millis(1)));
        let mut waited = vec![PollFd::new(&self.woken, PollFlags::IN)];
        if !is_paused {
            waited.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        for connection in &self.open {
            let flags = match connection.stage {
                // Even a look for nothing would return at once after the client has gone.
                Stage::Awaiting { .. } => continue,
                Stage::Idle if !has_place => continue,
                Stage::Idle | Stage::Incomplete(..) | Stage::Ending => PollFlags::IN,
                Stage::Answering(..) => PollFlags::OUT,
            };
            waited.push(PollFd::new(&connection.stream, flags));
        }
        match poll(&mut waited, time.transpose().unwrap_or_default().as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn accept(&mut self) {
        if self.pause.is_some_and(|until| until > Instant::now()) {
            return;
        }
        self.pause = None;
        loop {
            match self.listener.accept() {
                Ok((stream, _)) if stream.set_nonblocking(true).is_ok() => {
                    self.open.push_back(Connection { stream, stage: Stage::Idle, until: None });
                    let is_waiting = |connection: &Connection| !connection.has_place();
                    if self.open.iter().filter(|connection| is_waiting(connection)).count() > MOST_IDLE
                        && let Some(oldest) = self.open.iter().position(is_waiting)
                    {
                        self.open.remove(oldest);
                    }
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.pause = Some(Instant::now() + BREATH);
                    return;
                }
            }
        }
    }

    /// True if one more connection may have a place, perhaps that of a connection whose request is not complete.
    fn has_place(&self) -> bool {
        let taken = self.open.iter().filter(|connection| connection.has_place()).count();
        let is_incomplete = |connection: &Connection| matches!(connection.stage, Stage::Incomplete(..));
        taken < MOST_CONNECTIONS || self.open.iter().any(is_incomplete)
    }

    /// Lets each connection go on as far as it can, and closes those that have ended or take too long.
    fn advance(&mut self) {
        let now = Instant::now();
        let mut at = 0;
        while at < self.open.len() {
            let is_late = self.open[at].deadline().is_some_and(|until| until <= now);
            if is_late || self.advance_one(at, now).is_err() {
                self.open.remove(at);
                continue;
            }
            at += 1;
            // A connection that has just begun its request takes the place of the oldest one whose request is not complete.
            let taken = self.open.iter().filter(|connection| connection.has_place()).count();
            let is_incomplete = |connection: &Connection| matches!(connection.stage, Stage::Incomplete(..));
            if taken > MOST_CONNECTIONS
                && let Some(oldest) = self.open.iter().position(is_incomplete)
            {
                self.open.remove(oldest);
                at -= usize::from(oldest < at);
            }
        }
    }

    fn advance_one(&mut self, at: usize, now: Instant) -> io::Result<()> {
        let may_begin = self.has_place();
        let connection = &mut self.open[at];
        match &mut connection.stage {
            Stage::Idle if !may_begin => return Ok(()),
            Stage::Awaiting { .. } => return Ok(()),
            Stage::Answering(..) => return connection.send(),
            Stage::Idle | Stage::Incomplete(..) | Stage::Ending => {}
        }
        let mut bytes = [0; 4096];
        loop {
            let read = match connection.stream.read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => &bytes[..read],
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if matches!(connection.stage, Stage::Idle) {
                connection.stage = Stage::Incomplete(Vec::new(), now + LONGEST_REQUEST);
                connection.until = Some(now + LONGEST);
            }
            let Stage::Incomplete(request, _) = &mut connection.stage else { continue };
            request.extend_from_slice(read);
            let found = self.site.read(request);
            let is_too_long = request.len() > LARGEST_REQUEST;
            connection.stage = match found {
                Read::Part if is_too_long => return Err(ErrorKind::InvalidData.into()),
                Read::Part => continue,
                Read::Document { is_head } => Stage::Awaiting { is_head },
                Read::Answered(bytes) => Stage::Answering(bytes, 0),
            };
            return connection.send();
        }
    }

    /// Answers the connections that wait for the document, or begins to make it.
    fn answer_with_document(&mut self) {
        if !self.open.iter().any(|connection| matches!(connection.stage, Stage::Awaiting { .. })) {
            return;
        }
        let document = match self.making.as_ref().map(Receiver::try_recv) {
            Some(Err(TryRecvError::Empty)) => return,
            Some(made) => Some(made.ok()),
            None => self.document.kept().map(Some),
        };
        self.making = None;
        let Some(document) = document else { return self.make_document() };
        for connection in &mut self.open {
            if let Stage::Awaiting { is_head } = connection.stage {
                connection.stage = Stage::Answering(answer::of_document(document.as_deref(), is_head), 0);
                // An error shows again when more is sent.
                let _ = connection.send();
            }
        }
    }

    /// Makes the document in a thread. Without one, the connections get the answer that it can't be made.
    fn make_document(&mut self) {
        let (sender, made) = channel();
        self.making = Some(made);
        let Ok(waker) = self.waker.try_clone() else { return };
        let (document, brings) = (Arc::clone(&self.document), Brings { sender: Some(sender), waker });
        let make = move || {
            let made = document.make();
            if let Some(sender) = &brings.sender {
                // The server may have stopped.
                let _ = sender.send(made);
            }
        };
        // If this fails, `brings` has waked the server.
        let _ = std::thread::Builder::new().name("live document".to_owned()).spawn(make);
    }
}

/// Brings a document to the server, and wakes it, also after a panic.
struct Brings {
    sender: Option<Sender<Arc<[u8]>>>,
    waker: UnixStream,
}

impl Drop for Brings {
    fn drop(&mut self) {
        // The end of the channel says that nothing comes, so it must be seen by whom the byte wakes.
        drop(self.sender.take());
        let _ = self.waker.write(&[1]);
    }
}
