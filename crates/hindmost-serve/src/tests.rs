use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::answer::base64;

fn server() -> Server {
    let page = Page { html: "<p>page</p>".to_owned(), style: "p{}".to_owned(), script: "1".to_owned() };
    Server::start("127.0.0.1:0", &page, || b"{\"a\":1}".to_vec()).unwrap()
}

/// Sends a request and returns the whole answer.
fn answer(server: &Server, request: &str) -> String {
    let mut client = TcpStream::connect(server.address()).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    client.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

fn get(server: &Server, path: &str) -> String {
    answer(server, &format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address()))
}

#[test]
fn page_and_document_are_served() {
    let server = server();
    let page = get(&server, "/");
    assert!(page.starts_with("HTTP/1.1 200 ") && page.ends_with("<p>page</p>"), "{page}");
    assert!(page.contains("script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='"), "{page}");
    assert!(!page.to_lowercase().contains("set-cookie") && !page.to_lowercase().contains("access-control"), "{page}");
    let document = get(&server, "/api/snapshot.json?x=1");
    assert!(document.contains("content-type: application/json\r\n") && document.ends_with("{\"a\":1}"), "{document}");
    assert!(get(&server, "/favicon.ico").starts_with("HTTP/1.1 404 "));
    assert!(get(&server, "/../etc/passwd").starts_with("HTTP/1.1 404 "));
}

#[test]
fn only_get_and_head_are_answered() {
    let server = server();
    let host = server.address();
    let head = answer(&server, &format!("HEAD / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    let head = answer(&server, &format!("HEAD /api/snapshot.json HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert!(head.contains("content-length: 7\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        let refused = answer(&server, &format!("{method} / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"));
        assert!(refused.starts_with("HTTP/1.1 405 ") && refused.contains("allow: GET, HEAD\r\n"), "{refused}");
    }
}

#[test]
fn other_hosts_are_refused() {
    let server = server();
    let port = server.address().port();
    let of = |host: &str| answer(&server, &format!("GET /api/snapshot.json HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    for own in [format!("127.0.0.1:{port}"), format!("LOCALHOST:{port}"), "localhost".to_owned(), "[::1]:9".to_owned()]
    {
        assert!(of(&own).starts_with("HTTP/1.1 200 "), "{own}");
    }
    for other in ["example.org", "example.org:80", "127.0.0.1.example.org", "localhost:80:80", "127.0.0.1@x", "", ":80"]
    {
        assert!(of(other).starts_with("HTTP/1.1 4"), "{other}");
    }
    assert!(answer(&server, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 403 "));
    assert!(answer(&server, "GET / HTTP/1.1\r\nHost: localhost\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 4"));
}

#[test]
fn malformed_requests_do_not_end_the_server() {
    let server = server();
    for request in ["GET\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", "GET / HTTP/9\r\n\r\n"] {
        answer(&server, request);
    }
    let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(60_000));
    // The server may close the connection before it has read everything.
    let mut client = TcpStream::connect(server.address()).unwrap();
    let _ = client.write_all(long.as_bytes());
    assert!(get(&server, "/").starts_with("HTTP/1.1 200 "));
}

#[test]
fn idle_clients_do_not_hold_up_others() {
    let server = server();
    let mut idle: Vec<TcpStream> =
        (0..MOST_IDLE + 2 * MOST_CONNECTIONS).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    assert!(get(&server, "/").starts_with("HTTP/1.1 200 "));
    // Only the oldest ones are closed, and the newest ones are still served.
    let is_open = |client: &mut TcpStream| {
        client.set_nonblocking(true).unwrap();
        let read = client.read(&mut [0]);
        client.set_nonblocking(false).unwrap();
        read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    };
    let open: Vec<bool> = idle.iter_mut().map(is_open).collect();
    let closed = open.iter().take_while(|is_open| !**is_open).count();
    assert!(closed > 0 && open[closed..].iter().all(|is_open| *is_open), "{open:?}");
    assert!((MOST_IDLE - 1..=MOST_IDLE).contains(&(open.len() - closed)), "{open:?}");
    let mut last = idle.pop().unwrap();
    write!(last, "GET / HTTP/1.1\r\nHost: {}\r\n\r\n", server.address()).unwrap();
    let mut answer = String::new();
    last.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn incomplete_requests_do_not_hold_up_others() {
    let server = server();
    let begin = Instant::now();
    let begin_request = |_| {
        let mut client = TcpStream::connect(server.address()).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: local").unwrap();
        client
    };
    let mut half: Vec<TcpStream> = (0..187).map(begin_request).collect();
    assert!(get(&server, "/").starts_with("HTTP/1.1 200 "));
    let took = begin.elapsed();
    assert!(took < LONGEST_REQUEST, "{took:?}");
    // The newest one may still complete its request.
    let mut last = half.pop().unwrap();
    last.write_all(b"host\r\n\r\n").unwrap();
    let mut answer = String::new();
    last.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn idle_clients_do_not_hold_up_the_end() {
    let server = server();
    let idle: Vec<TcpStream> =
        (0..3 * MOST_CONNECTIONS).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let address = server.address();
    server.finish();
    drop(idle);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn many_get_a_large_document_and_a_panic_ends_nothing() {
    let fails = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&fails);
    let document = move || {
        assert!(!flag.load(Ordering::Relaxed), "this one can't be made");
        std::thread::sleep(Duration::from_millis(100));
        // More than the system keeps of what is sent.
        vec![b'x'; 8 << 20]
    };
    let server = Server::start("127.0.0.1:0", &Page::default(), document).unwrap();
    let all = || {
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..6).map(|_| scope.spawn(|| get(&server, "/api/snapshot.json"))).collect();
            clients.into_iter().map(|client| client.join().unwrap()).collect::<Vec<_>>()
        })
    };
    assert!(all().iter().all(|answer| answer.len() > 8 << 20 && answer.starts_with("HTTP/1.1 200 ")));
    fails.store(true, Ordering::Relaxed);
    // What was made is kept for half a second.
    std::thread::sleep(Duration::from_secs(1));
    assert!(all().iter().all(|answer| answer.starts_with("HTTP/1.1 500 ")));
    assert!(get(&server, "/").starts_with("HTTP/1.1 200 "));
}

#[test]
fn only_loopback_addresses_are_accepted() {
    for text in ["127.0.0.1:0", "localhost:8080", "[::1]:80", "127.1.2.3:1"] {
        assert!(loopback(text).is_ok(), "{text}");
    }
    for text in ["8080", "127.0.0.1", "example.org:80", "localhost:x", ""] {
        assert!(matches!(loopback(text), Err(ServeError::NotAnAddress(_))), "{text}");
    }
    for text in ["0.0.0.0:80", "192.168.1.2:80", "[::]:80"] {
        let error = loopback(text).unwrap_err();
        assert!(matches!(error, ServeError::NotLoopback(_)) && error.to_string().contains("ssh -L 80:"), "{error}");
    }
}

#[test]
fn base64_is_that_of_rfc_4648() {
    for (text, expected) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
        assert_eq!(base64(text.as_bytes()), expected);
    }
}
