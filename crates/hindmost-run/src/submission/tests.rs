//! Tests of the socket: who may open it, and what a client may send.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use tempfile::TempDir;

use super::protocol::LONGEST_REQUEST;
use super::{Admission, Client, ClientError, Desk, JobList, Listener, Reply, Request, SocketError};
use crate::driver::RunOptions;
use crate::engine::parse_nodes;
use crate::job_file::{Overrides, Plan};
use crate::store::{Opening, Store};

/// A run without a driver: submitted jobs wait at the desk.
struct Run {
    folder: TempDir,
    desk: Desk,
    listener: Option<Listener>,
    /// Holds the lock of the run's folder.
    home: Store,
}

impl Run {
    fn new() -> Run {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let home = Store::open(&out, &Plan::of_several(&out), &Opening::default()).unwrap().store;
        let admission = Admission {
            folder: out,
            nodes: parse_nodes(Some("n1:2")).unwrap(),
            options: RunOptions::default(),
            opening: Opening::default(),
            overrides: Overrides::default(),
        };
        let desk = Desk::new(admission, JobList::read(home.pages()).unwrap(), &[], true);
        let listener = Some(Listener::start(&folder.path().join("socket"), desk.clone()).unwrap());
        Run { folder, desk, listener, home }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a job file and returns the request to submit it.
    fn job(&self, name: &str, more: &str) -> Request {
        let file = self.path(&format!("{name}.toml"));
        fs::write(&file, format!("{more}\n[[phase]]\nname = \"p\"\ntasks = 3\ncommand = \"true\"\n")).unwrap();
        Request::Submit { file: file.to_str().unwrap().to_owned(), name: None, resume: false, wait: false }
    }

    fn reply(&self, request: &Request) -> Reply {
        Client::send(&self.path("socket"), request).unwrap().reply().unwrap()
    }

    fn refusal(&self, request: &Request) -> String {
        match self.reply(request) {
            Reply::Refused { reason } => reason,
            other => panic!("this is accepted: {other:?}"),
        }
    }

    /// Sends bytes as they are, and returns the line that comes back.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = UnixStream::connect(self.path("socket")).unwrap();
        // The run may close the connection before it has read everything.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut line = String::new();
        let _ = BufReader::new(stream).read_line(&mut line);
        line
    }
}

fn named(request: Request, new_name: &str, resumes: bool) -> Request {
    match request {
        Request::Submit { file, wait, .. } => {
            Request::Submit { file, wait, name: Some(new_name.to_owned()), resume: resumes }
        }
        Request::Close {} => Request::Close {},
    }
}

#[test]
fn an_accepted_job_waits_in_its_folder_and_is_in_the_list() {
    let run = Run::new();
    let request = run.job("sort", "policy = \"late\"\n");
    let Reply::Accepted { job, folder, tasks, notes } = run.reply(&request) else { panic!("not accepted") };
    assert_eq!((job.as_str(), tasks), ("sort", 3));
    assert!(Path::new(&folder).ends_with("out/sort"), "{folder}");
    assert_eq!(notes, ["policy of the job file is not used: that of the run counts"]);
    let list = JobList::read(run.home.pages()).unwrap();
    assert_eq!(list.entries()[0].file, run.path("sort.toml"));
    assert_eq!(run.desk.next().unwrap().plan.name, "sort");
    assert!(run.desk.next().is_none());
}

#[test]
fn two_jobs_never_have_the_same_name() {
    let run = Run::new();
    let request = run.job("sort", "");
    run.reply(&request);
    assert!(run.refusal(&request).contains("has not ended"));
    assert!(run.refusal(&named(request.clone(), "sort", true)).contains("has not ended"));
    assert!(matches!(run.reply(&named(request.clone(), "again", false)), Reply::Accepted { .. }));
    run.desk.next();
    run.desk.refused("sort", "it has ended".to_owned());
    assert!(run.refusal(&request).contains("continue it with --resume"));
    // The folder is still open: only the driver closes it.
    drop(run.desk.next());
    assert!(matches!(run.reply(&named(request, "sort", true)), Reply::Accepted { .. }));
}

#[test]
fn what_can_not_run_is_refused_and_leaves_nothing() {
    let run = Run::new();
    let large = run.job("large", "[defaults]\ncpus = 3\n");
    assert!(run.refusal(&large).contains("more than any node has"));
    let relative = Request::Submit { file: "sort.toml".to_owned(), name: None, resume: false, wait: false };
    assert!(run.refusal(&relative).contains("absolute"));
    for name in ["../up", ".hidden", "a/b", "", "line\nfeed"] {
        run.refusal(&named(run.job("sort", ""), name, false));
    }
    let gone = Request::Submit { file: "/nothing/here.toml".to_owned(), name: None, resume: false, wait: false };
    assert!(run.refusal(&gone).contains("no such file"));
    let left: Vec<_> = fs::read_dir(run.path("out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".hindmost"]);
    assert_eq!(run.reply(&Request::Close {}), Reply::Closed { open: 0 });
    assert!(run.refusal(&run.job("sort", "")).contains("accepts no more jobs"));
    assert!(!run.desk.is_open());
}

#[test]
fn messages_are_limited_and_checked() {
    let run = Run::new();
    assert!(run.raw(b"hello\n").contains("this is no message"));
    assert!(run.raw(b"{\"submit\":{\"file\":\"/a\",\"more\":1}}\n").contains("unknown field"));
    assert!(run.raw(b"{\"close\":{}}").contains("ends with a line feed"));
    assert!(run.raw(b"\xff\xfe\n").contains("this is no message"));
    let long = vec![b'x'; usize::try_from(LONGEST_REQUEST).unwrap() + 10];
    assert!(run.raw(&long).contains("at most"));
    assert_eq!(run.raw(b""), "");
    // The run still accepts jobs.
    assert!(matches!(run.reply(&run.job("sort", "")), Reply::Accepted { .. }));
}

#[test]
fn only_the_owner_may_open_the_socket_and_it_goes_with_the_run() {
    let mut run = Run::new();
    let path = run.path("socket");
    assert_eq!(fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(Listener::start(&path, run.desk.clone()), Err(SocketError::InUse(_))));
    run.listener = None;
    assert!(!path.exists());
    assert!(matches!(Client::send(&path, &Request::Close {}), Err(ClientError::NoRun { .. })));
    // What a killed run leaves is replaced, other files are not.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    run.listener = Some(Listener::start(&path, run.desk.clone()).unwrap());
    fs::write(run.path("file"), "mine").unwrap();
    assert!(matches!(Listener::start(&run.path("file"), run.desk.clone()), Err(SocketError::NoSocket(_))));
    let long = run.path(&"x".repeat(200));
    assert!(matches!(Listener::start(&long, run.desk.clone()), Err(SocketError::TooLong(_))));
}

#[test]
fn a_client_that_waits_learns_that_the_run_has_ended() {
    let mut run = Run::new();
    let Request::Submit { file, .. } = run.job("sort", "") else { panic!("a request to submit") };
    let request = Request::Submit { file, name: None, resume: false, wait: true };
    let mut client = Client::send(&run.path("socket"), &request).unwrap();
    assert!(matches!(client.reply().unwrap(), Reply::Accepted { .. }));
    run.listener = None;
    assert!(matches!(client.end().unwrap(), Reply::Refused { reason } if reason.contains("resume the run")));
}

#[test]
fn a_run_removes_only_its_own_socket() {
    let mut run = Run::new();
    let path = run.path("socket");
    fs::remove_file(&path).unwrap();
    let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
    run.listener = None;
    assert!(path.exists(), "the socket of another run is left");
    drop(other);
}

#[test]
fn a_socket_in_no_folder_is_refused_with_advice() {
    let run = Run::new();
    let refused = Listener::check(&run.path("missing/socket")).unwrap_err();
    assert!(refused.to_string().contains("missing does not exist; create it"), "{refused}");
    assert!(Listener::check(&run.path("other")).is_ok() && !run.path("other").exists());
}

#[test]
fn a_request_that_does_not_arrive_is_refused() {
    let (client, server) = UnixStream::pair().unwrap();
    let deadline = std::time::Instant::now();
    let error = std::io::Read::read(&mut super::socket::Until { client: &server, deadline }, &mut [0; 8]).unwrap_err();
    assert!(error.to_string().contains("a request must arrive within 10 s"), "{error}");
    let deadline = deadline + std::time::Duration::from_millis(20);
    let error = std::io::Read::read(&mut super::socket::Until { client: &server, deadline }, &mut [0; 8]).unwrap_err();
    assert!(error.to_string().contains("a request must arrive within 10 s"), "{error}");
    drop(client);
}

#[test]
fn only_regular_files_are_job_files() {
    let run = Run::new();
    let pipe = run.path("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let request = Request::Submit { file: pipe.to_str().unwrap().to_owned(), name: None, resume: false, wait: false };
    assert!(run.refusal(&request).contains("no regular file"));
    for name in ["n\u{202e}", "\u{2066}n", "n\u{200f}m"] {
        assert!(run.refusal(&named(run.job("sort", ""), name, false)).contains("direction of text"), "{name:?}");
    }
}
