//! The answer to each request.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use sha2::{Digest, Sha256};

use crate::Page;
use crate::document::Document;

type Answer = Response<Full<Bytes>>;

/// What the server serves.
pub(crate) struct Site {
    html: Bytes,
    policy: HeaderValue,
    /// The values of `Host` under which the server answers.
    hosts: Vec<String>,
    document: Arc<Document>,
}

impl Site {
    pub fn new(address: SocketAddr, page: &Page, document: Arc<Document>) -> Site {
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; img-src data:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            base64(&Sha256::digest(&page.style)),
            base64(&Sha256::digest(&page.script))
        );
        let policy = HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
        let mut hosts: Vec<String> = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).into();
        let own = address.to_string();
        hosts.extend(own.rsplit_once(':').map(|(host, _)| host.to_owned()));
        Site { html: Bytes::from(page.html.clone()), policy, hosts, document }
    }

    /// Answers a request. A request with a body is answered too; its body is not read.
    pub async fn answer(&self, request: &Request<Incoming>) -> Answer {
        let is_head = request.method() == Method::HEAD;
        let mut answer = if !self.is_own_host(request) {
            text(StatusCode::FORBIDDEN, "This server answers only under its loopback address.\n")
        } else if request.method() != Method::GET && !is_head {
            let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "This server only answers GET and HEAD.\n");
            answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            answer
        } else {
            match request.uri().path() {
                "/" => self.page(),
                "/api/snapshot.json" => self.snapshot().await,
                _ => text(StatusCode::NOT_FOUND, "There is nothing at this address.\n"),
            }
        };
        let headers = answer.headers_mut();
        for (name, value) in [
            // Each request has a connection of its own, so that idle clients keep no place.
            (header::CONNECTION, "close"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::CACHE_CONTROL, "no-store"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::X_FRAME_OPTIONS, "DENY"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
        if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
            headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
        }
        answer
    }

    /// True if the request names this server. A tunnel may have another port, so the port is not compared.
    fn is_own_host(&self, request: &Request<Incoming>) -> bool {
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let Ok(host) = host.to_str() else { return false };
        let is_port = |port: &str| port.parse::<u16>().is_ok();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if is_port(port) && !name.is_empty() && (!name.contains(':') || name.ends_with(']')) => {
                name
            }
            _ => host,
        };
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    fn page(&self) -> Answer {
        let mut answer = body("text/html; charset=utf-8", self.html.clone());
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, self.policy.clone());
        answer
    }

    async fn snapshot(&self) -> Answer {
        match Arc::clone(&self.document).fetch().await {
            Some(bytes) => body("application/json", bytes),
            None => text(StatusCode::INTERNAL_SERVER_ERROR, "The state could not be determined.\n"),
        }
    }
}

fn body(kind: &'static str, bytes: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(bytes));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

fn text(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = body("text/plain; charset=utf-8", Bytes::from_static(text.as_bytes()));
    *answer.status_mut() = status;
    answer
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
