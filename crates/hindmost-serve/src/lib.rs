//! Serves one page and one JSON document over HTTP on the loopback interface.
//!
//! | address | answer |
//! | --- | --- |
//! | `GET /` | the page |
//! | `GET /api/snapshot.json` | the document, made when it is requested |
//! | anything else | 404; methods other than GET and HEAD: 405; a foreign `Host`: 403 |
//!
//! The server is for a program that does other work, so it must not slow this work down:
//!
//! - It has one thread, and one more while a document is made. The document is made at most twice a second, for all clients
//!   together.
//! - It serves a limited number of connections at a time ([`MOST_CONNECTIONS`]); others wait. A connection carries one request,
//!   which must arrive within [`LONGEST_REQUEST`], and is closed after [`LONGEST`] at the latest, so slow clients take nothing
//!   from others.
//! - A connection that has sent nothing yet does not count. Browsers open such connections in advance. If there are more than
//!   [`MOST_IDLE`] of them, the oldest one is closed.
//! - If a connection has to wait because all others are taken, the oldest of those whose requests are not complete is closed. So
//!   clients that begin many requests and send no more keep nobody waiting.
//!
//! Pages of other sites can send requests to the loopback interface too. They can't read the answers, since no answer allows
//! it (CORS), and a request under another host name, as after DNS rebinding, is refused. The page's content security policy
//! names the hashes of its own style and script, so nothing else runs in it.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//!
//! use hindmost_serve::{Page, Server};
//!
//! let page = Page { html: "<!DOCTYPE html><title>Run</title>".to_owned(), style: String::new(), script: String::new() };
//! let server = Server::start("127.0.0.1:0", &page, || b"{}".to_vec())?;
//! let mut client = TcpStream::connect(server.address())?;
//! write!(client, "GET /api/snapshot.json HTTP/1.1\r\nHost: {}\r\n\r\n", server.address())?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n{}"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod connections;
mod document;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use answer::Site;
use connections::Connections;
use document::Document;

/// Largest number of connections that are served at a time.
pub const MOST_CONNECTIONS: usize = 8;
/// Largest number of connections that have sent nothing yet.
pub const MOST_IDLE: usize = 32;
/// Time after which a connection that has sent something is closed, whatever it does.
pub const LONGEST: Duration = Duration::from_secs(10);
/// Longest time from the first byte of a request to its last.
pub const LONGEST_REQUEST: Duration = Duration::from_secs(2);
/// Time after a request of the document within which somebody is taken to look at the page.
const WATCHED: Duration = Duration::from_secs(5);
/// Longest time that [`Server::finish`] waits for a browser to fetch the last document.
const LAST_LOOK: Duration = Duration::from_millis(2500);
/// Pause after a connection could not be accepted, for example because too many files are open.
const BREATH: Duration = Duration::from_millis(200);

/// Why the server can't start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The text is not an address.
    #[error(
        "{0:?} is not an address: give HOST:PORT with a loopback address, such as 127.0.0.1:8080; port 0 takes a free port"
    )]
    NotAnAddress(String),
    /// Other machines could connect to the address.
    #[error(
        "{0} can be reached from other machines, and the page has no password: use 127.0.0.1:{port}, and on the other machine \
         `ssh -L {port}:127.0.0.1:{port} HOST` with the number of the port", port = shown_port(.0)
    )]
    NotLoopback(SocketAddr),
    /// The address can't be used.
    #[error("{address}: {error}")]
    Unusable {
        /// The address.
        address: SocketAddr,
        /// Why it can't be used.
        error: io::Error,
    },
}

fn shown_port(address: &SocketAddr) -> u16 {
    if address.port() == 0 { 8080 } else { address.port() }
}

/// The page. Its style and its script are parts of the text, each in an element of its own.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The page's whole text.
    pub html: String,
    /// The exact content of its `style` element.
    pub style: String,
    /// The exact content of its `script` element.
    pub script: String,
}

/// Reads an address. `localhost` stands for 127.0.0.1.
///
/// # Errors
/// If it is no address, or no loopback address.
pub fn loopback(text: &str) -> Result<SocketAddr, ServeError> {
    let named = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address: SocketAddr =
        named.as_deref().unwrap_or(text).parse().map_err(|_| ServeError::NotAnAddress(text.to_owned()))?;
    let is_loopback = match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    if is_loopback { Ok(address) } else { Err(ServeError::NotLoopback(address)) }
}

/// A running server. Dropping it stops it.
pub struct Server {
    address: SocketAddr,
    document: Arc<Document>,
    /// The other end of what the thread waits for. Its end stops the thread.
    stop: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server with this page. `document` makes the JSON document.
    ///
    /// # Errors
    /// If the address is no loopback address or can't be used, or if no thread can be started.
    pub fn start(
        address: &str,
        page: &Page,
        document: impl FnMut() -> Vec<u8> + Send + 'static,
    ) -> Result<Server, ServeError> {
        let wanted = loopback(address)?;
        let unusable = |error| ServeError::Unusable { address: wanted, error };
        let listener = TcpListener::bind(wanted).map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let document = Arc::new(Document::new(Box::new(document)));
        let site = Site::new(address, page);
        let (stop, woken) = UnixStream::pair().map_err(unusable)?;
        let waker = stop.try_clone().map_err(unusable)?;
        let connections = Connections::new(listener, (waker, woken), site, Arc::clone(&document)).map_err(unusable)?;
        let thread = std::thread::Builder::new().name("live page".to_owned()).spawn(move || connections.serve());
        let thread = Some(thread.map_err(unusable)?);
        Ok(Server { address, document, stop, thread })
    }

    /// Returns the address at which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Stops the server. If a browser has fetched the document in the last seconds, waits up to 2.5 s until it has fetched a
    /// document that was made after this call.
    pub fn finish(self) {
        let begun = Instant::now();
        if !self.document.was_fetched_within(WATCHED) {
            return;
        }
        self.document.renew();
        while begun.elapsed() < LAST_LOOK && !self.document.was_fetched_since_renewed() {
            std::thread::sleep(Duration::from_millis(20));
        }
        // The answer is on its way.
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that the thread has ended.
        let _ = self.stop.shutdown(Shutdown::Both);
        // A panic in the thread must not become one here.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
