//! Marks identify the run and attempt of a process. A process inherits them from its parent even if its environment,
//! session, descriptors and user change, and any process can read them.
//!
//! A mark is the soft limit of a resource that has no effect on Linux at such a size: the CPU time of a real-time thread
//! (`RLIMIT_RTTIME`, in µs), file locks (`RLIMIT_LOCKS`, unused since 2.4.25) and resident memory (`RLIMIT_RSS`, unused
//! since 2.4.30). `fork` and `exec` keep limits, and `/proc/PID/limits` shows them. A process loses its marks only if it
//! sets these limits, as `su` does (`pam_limits`).
//!
//! | limit | mark of |
//! | --- | --- |
//! | `RTTIME` | the attempt |
//! | `LOCKS` | its run |
//! | `RSS` | the attempt of another run inside which this run was started, if there is one |
//!
//! A mark is a hash of the run's id, the run's folder and, for an attempt, its key. So two folders with the same run id have
//! different marks.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, setrlimit};
use sha2::{Digest, Sha256};

use super::common::{FOLDER_VARIABLE, KEY_VARIABLE, RUN_VARIABLE, WITHIN_VARIABLE};

/// The three highest bits of every mark. They make it greater than any usual limit and less than "unlimited".
const SHAPE: u64 = 0b010 << 61;

/// Size of the buffer for `/proc/PID/limits`, which has 16 lines of 80 bytes.
const LONGEST: usize = 4096;

/// Identifies a run or attempt by a number that fits a resource limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(u64);

impl Mark {
    fn of(parts: &[&[u8]]) -> Mark {
        let mut text = Vec::new();
        for part in parts {
            text.extend((part.len() as u64).to_le_bytes());
            text.extend(*part);
        }
        let hash = Sha256::digest(&text);
        let number = hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
        Mark(SHAPE | number >> 3)
    }

    /// Returns the mark of a run.
    pub fn of_run(id: &str, folder: &Path) -> Mark {
        Mark::of(&[b"run", id.as_bytes(), folder.as_os_str().as_bytes()])
    }

    /// Returns the mark of a run or attempt, from the values of its environment variables.
    pub(super) fn of_values(run: &[u8], folder: &[u8], key: Option<&[u8]>) -> Mark {
        match key {
            None => Mark::of(&[b"run", run, folder]),
            Some(key) => Mark::of(&[b"attempt", run, folder, key]),
        }
    }

    /// Returns the mark in a soft limit; `None` if the limit is not a mark.
    fn of_limit(limit: Option<u64>) -> Option<Mark> {
        limit.filter(|limit| limit >> 61 == SHAPE >> 61).map(Mark)
    }

    /// Returns the marks in the value of [`WITHIN_VARIABLE`].
    pub(super) fn list(text: &[u8]) -> Vec<Mark> {
        let words = text.split(|byte| *byte == b',').filter_map(|word| std::str::from_utf8(word).ok());
        words.filter_map(|word| Mark::of_limit(u64::from_str_radix(word, 16).ok())).collect()
    }

    /// Returns the mark in hexadecimal.
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// The marks of the attempt and the run to which a process belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Mark of the attempt.
    pub attempt: Mark,
    /// Mark of the run to which the attempt belongs.
    pub run: Mark,
}

impl Tag {
    /// Returns the tag of the attempt with this key in its run.
    pub fn new(run: &str, folder: &Path, key: &str) -> Tag {
        let (id, path) = (run.as_bytes(), folder.as_os_str().as_bytes());
        Tag { attempt: Mark::of_values(id, path, Some(key.as_bytes())), run: Mark::of_run(run, folder) }
    }
}

/// The marks of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Mark of the attempt to which the process belongs.
    pub attempt: Option<Mark>,
    /// Mark of that attempt's run.
    pub run: Option<Mark>,
    /// Mark of the attempt inside which that run was started.
    pub enclosing: Option<Mark>,
}

impl Marks {
    /// Reads the marks of a process; `None` if it does not exist.
    pub fn read(pid: u32) -> Option<Marks> {
        let mut buffer = [0; LONGEST];
        let mut file = File::open(format!("/proc/{pid}/limits")).ok()?;
        let mut length = 0;
        while let Ok(read @ 1..) = file.read(&mut buffer[length..]) {
            length += read;
        }
        (length > 0).then(|| Marks::parse(&buffer[..length]))
    }

    fn parse(text: &[u8]) -> Marks {
        let mut marks = Marks::default();
        for line in text.split(|byte| *byte == b'\n') {
            let soft = |name: &str| {
                let rest = std::str::from_utf8(line.strip_prefix(name.as_bytes())?).ok()?;
                Mark::of_limit(rest.split_ascii_whitespace().next()?.parse().ok())
            };
            marks.attempt = marks.attempt.or_else(|| soft("Max realtime timeout"));
            marks.run = marks.run.or_else(|| soft("Max file locks"));
            marks.enclosing = marks.enclosing.or_else(|| soft("Max resident set"));
        }
        marks
    }
}

/// Returns a resource limit of this process by its name in `/proc`. A value is `None` if it is unlimited or can't be read.
pub(crate) fn own_limit(name: &str) -> Rlimit {
    let text = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let mut words = line.split_ascii_whitespace().map(|word| word.parse().ok());
    Rlimit { current: words.next().flatten(), maximum: words.next().flatten() }
}

/// The attempts inside which this process runs.
#[derive(Debug)]
pub(super) struct Enclosing {
    /// The attempt mark of this process itself.
    pub own: Option<Mark>,
    /// The marks of all enclosing attempts, outermost first.
    pub all: Vec<Mark>,
}

/// Returns the attempts inside which this process was started.
pub(super) fn enclosing() -> &'static Enclosing {
    static ENCLOSING: OnceLock<Enclosing> = OnceLock::new();
    ENCLOSING.get_or_init(|| {
        let value = |name: &str| std::env::var_os(name);
        let bytes = |text: &OsStr| text.as_bytes().to_vec();
        let mut all = value(WITHIN_VARIABLE).map_or_else(Vec::new, |text| Mark::list(text.as_bytes()));
        if let (Some(run), Some(folder), Some(key)) = (value(RUN_VARIABLE), value(FOLDER_VARIABLE), value(KEY_VARIABLE))
        {
            all.push(Mark::of_values(&bytes(&run), &bytes(&folder), Some(&bytes(&key))));
        }
        let own = Mark::of_limit(own_limit("Max realtime timeout").current);
        all.extend(own.filter(|own| !all.contains(own)));
        Enclosing { own, all }
    })
}

/// Returns the value of [`WITHIN_VARIABLE`] for processes that this process starts; `None` if this process runs inside no
/// attempt.
pub fn within() -> Option<String> {
    let marks: Vec<String> = enclosing().all.iter().map(|mark| mark.hex()).collect();
    (!marks.is_empty()).then(|| marks.join(","))
}

/// Gives this process, and every process that it starts, the marks of an attempt until this value is dropped.
#[derive(Debug)]
pub(super) struct WithMarks(Vec<(Resource, Rlimit)>);

impl WithMarks {
    /// Sets the marks, except those that exceed the hard limit.
    pub fn set(tag: Tag) -> WithMarks {
        static BEFORE: OnceLock<[Rlimit; 3]> = OnceLock::new();
        let limits =
            BEFORE.get_or_init(|| ["Max realtime timeout", "Max file locks", "Max resident set"].map(own_limit));
        let marks =
            [(Resource::Rttime, Some(tag.attempt)), (Resource::Locks, Some(tag.run)), (Resource::Rss, enclosing().own)];
        let mut before = Vec::new();
        for ((resource, mark), limit) in marks.into_iter().zip(*limits) {
            let Some(mark) = mark else { continue };
            if setrlimit(resource, Rlimit { current: Some(mark.0), maximum: limit.maximum }).is_ok() {
                before.push((resource, limit));
            }
        }
        WithMarks(before)
    }
}

impl Drop for WithMarks {
    fn drop(&mut self) {
        for (resource, limit) in self.0.drain(..) {
            let _ = setrlimit(resource, limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_from_limits() {
        let tag = Tag::new("run", Path::new("/folder"), "0.1.2");
        let text = format!(
            "Limit   Soft Limit  Hard Limit  Units     \nMax resident set   unlimited   unlimited  bytes \n\
             Max file locks   {}  unlimited  locks \nMax realtime timeout   {}   {}  us  \n",
            tag.run.0, tag.attempt.0, tag.run.0
        );
        let marks = Marks::parse(text.as_bytes());
        assert_eq!(marks, Marks { attempt: Some(tag.attempt), run: Some(tag.run), enclosing: None });
        assert_eq!(Marks::parse(b"Max realtime timeout 200000 200000 us\nMax file locks"), Marks::default());
    }

    #[test]
    fn every_part_of_a_tag_changes_its_marks() {
        let tag = |run, folder: &str, key| Tag::new(run, Path::new(folder), key);
        let one = tag("run", "/folder", "0.1.2");
        assert_eq!(one, tag("run", "/folder", "0.1.2"));
        assert_ne!(one.attempt, tag("run", "/folder", "0.1.3").attempt);
        assert_eq!(one.run, tag("run", "/folder", "0.1.3").run);
        for other in [tag("run", "/other", "0.1.2"), tag("nur", "/folder", "0.1.2"), tag("run/", "folder", "0.1.2")] {
            assert!(other.attempt != one.attempt && other.run != one.run);
        }
        assert_ne!(one.attempt, one.run);
    }

    #[test]
    fn lists_of_marks_are_read_back() {
        let (one, two) = (Mark::of_run("1", Path::new("/")), Mark::of_run("2", Path::new("/")));
        let text = format!("{},{}", one.hex(), two.hex());
        assert_eq!(Mark::list(text.as_bytes()), [one, two]);
        assert_eq!(Mark::list(b""), []);
        assert_eq!(Mark::list(b"12,x,ffffffffffffffff,\xff"), []);
    }
}
