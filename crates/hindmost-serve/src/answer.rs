//! The answer to each request.

use std::net::SocketAddr;

use sha2::{Digest, Sha256};

use crate::Page;

/// Most lines of headers of a request.
const MOST_HEADERS: usize = 64;
/// The policy of everything but the page: nothing may be loaded.
const NOTHING: &str = "default-src 'none'";

/// What the server serves, but for the document.
pub(crate) struct Site {
    html: String,
    policy: String,
    /// The values of `Host` under which the server answers.
    hosts: Vec<String>,
}

/// What has been read of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// It is not complete.
    Part,
    /// It is answered with these bytes.
    Answered(Vec<u8>),
    /// It is answered with the document, or with the headers alone.
    Document { is_head: bool },
}

impl Site {
    pub fn new(address: SocketAddr, page: &Page) -> Site {
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; img-src data:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            base64(&Sha256::digest(&page.style)),
            base64(&Sha256::digest(&page.script))
        );
        let mut hosts: Vec<String> = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).into();
        let own = address.to_string();
        hosts.extend(own.rsplit_once(':').map(|(host, _)| host.to_owned()));
        Site { html: page.html.clone(), policy, hosts }
    }

    /// Reads a request. One with a body is answered too; its body is not read.
    pub fn read(&self, bytes: &[u8]) -> Read {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes) {
            Ok(httparse::Status::Partial) => return Read::Part,
            Ok(httparse::Status::Complete(_)) => {}
            Err(_) => return Read::Answered(text("400 Bad Request", "This is not a request.\n", "", false)),
        }
        let method = request.method.unwrap_or_default();
        let is_head = method == "HEAD";
        let path = request.path.unwrap_or_default().split('?').next().unwrap_or_default();
        Read::Answered(if !self.is_own_host(request.headers) {
            text("403 Forbidden", "This server answers only under its loopback address.\n", "", is_head)
        } else if method != "GET" && !is_head {
            let allowed = "allow: GET, HEAD\r\n";
            text("405 Method Not Allowed", "This server only answers GET and HEAD.\n", allowed, is_head)
        } else {
            match path {
                "/" => answer(("200 OK", "text/html; charset=utf-8"), &self.policy, "", self.html.as_bytes(), is_head),
                "/api/snapshot.json" => return Read::Document { is_head },
                _ => text("404 Not Found", "There is nothing at this address.\n", "", is_head),
            }
        })
    }

    /// True if the request names this server. A tunnel may have another port, so the port is not compared.
    fn is_own_host(&self, headers: &[httparse::Header<'_>]) -> bool {
        let mut hosts = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let Ok(host) = std::str::from_utf8(host.value) else { return false };
        let is_port = |port: &str| port.parse::<u16>().is_ok();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if is_port(port) && !name.is_empty() && (!name.contains(':') || name.ends_with(']')) => {
                name
            }
            _ => host,
        };
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// Returns the answer with the document; `None` if it could not be made.
pub(crate) fn of_document(document: Option<&[u8]>, is_head: bool) -> Vec<u8> {
    match document {
        Some(bytes) => answer(("200 OK", "application/json"), NOTHING, "", bytes, is_head),
        None => text("500 Internal Server Error", "The state could not be determined.\n", "", is_head),
    }
}

fn text(status: &str, text: &str, headers: &str, is_head: bool) -> Vec<u8> {
    answer((status, "text/plain; charset=utf-8"), NOTHING, headers, text.as_bytes(), is_head)
}

/// Returns an answer, without its body if a request wants the headers alone.
fn answer((status, kind): (&str, &str), policy: &str, headers: &str, body: &[u8], is_head: bool) -> Vec<u8> {
    // Each request has a connection of its own, so that idle clients keep no place.
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\ncontent-security-policy: {policy}\r\n{headers}\
         connection: close\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n\
         x-frame-options: DENY\r\ncross-origin-resource-policy: same-origin\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), if is_head { &[] } else { body }].concat()
}

/// Returns bytes in base64, as content security policies write hashes.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let word = part.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        for place in 0..4 {
            let digit = (word >> (18 - 6 * place)) as usize & 63;
            text.push(if place <= part.len() { char::from(DIGITS[digit]) } else { '=' });
        }
    }
    text
}
