//! Reads the state of a process from `/proc/PID/stat`. It takes as few system calls as possible, because trees of processes
//! change while they are listed.

use std::fs::File;
use std::io::{self, Read};

/// Clock ticks per second in `/proc` (`USER_HZ`). They do not depend on the frequency of the kernel's own clock.
pub(super) const TICKS_PER_SECOND: f64 = 100.0;

/// Size of the buffer for the line, which has at most 64 bytes of name and 50 numbers of 20 digits.
const LONGEST: usize = 2048;

/// The state of a process at one moment.
#[derive(Clone, Debug)]
pub(super) struct Stat {
    pub pid: u32,
    state: u8,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    /// The device number of the controlling terminal, 0 if there is none.
    pub terminal: u64,
    /// CPU time of all threads of the process in user and kernel mode, in clock ticks.
    pub cpu_ticks: u64,
    pub threads: u64,
    pub start_time: u64,
    /// False for kernel threads and for processes that have ended: they have no memory.
    pub has_memory: bool,
}

impl Stat {
    /// Reads the state of a process; the error is `NotFound` if the process does not exist.
    pub fn read(pid: u32) -> io::Result<Stat> {
        // A process without threads is being reaped and does not exist at the next read, unless another of its threads has
        // become the first one by executing another program.
        for _ in 0..3 {
            let stat = Stat::read_once(pid)?;
            if stat.threads > 0 {
                return Ok(stat);
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn read_once(pid: u32) -> io::Result<Stat> {
        let mut buffer = [0; LONGEST];
        let mut file = File::open(format!("/proc/{pid}/stat"))?;
        let length = file.read(&mut buffer).map_err(|error| match rustix::io::Errno::from_io_error(&error) {
            // The process ended after its file had been opened.
            Some(rustix::io::Errno::SRCH) => io::ErrorKind::NotFound.into(),
            _ => error,
        })?;
        Stat::parse(pid, &buffer[..length]).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat has an unknown format"))
        })
    }

    /// Parses `pid (name) state parent …`. The name may contain brackets, so it ends at the last bracket.
    pub fn parse(pid: u32, line: &[u8]) -> Option<Stat> {
        let name_ends = line.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(&line[name_ends + 1..]).ok()?;
        // proc(5) counts fields from 1; the field after the name is the third.
        let fields: Vec<&str> = rest.split_ascii_whitespace().take(21).collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let number = |of: usize| field(of)?.parse::<u64>().ok();
        // A process that is being reaped has no group and session: -1, stored as 0.
        let id = |of: usize| Some(u32::try_from(field(of)?.parse::<i64>().ok()?).unwrap_or(0));
        Some(Stat {
            pid,
            state: *field(3)?.as_bytes().first()?,
            parent: id(4)?,
            group: id(5)?,
            session: id(6)?,
            terminal: number(7)?,
            cpu_ticks: number(14)?.saturating_add(number(15)?),
            threads: number(20)?,
            start_time: number(22)?,
            has_memory: number(23)? > 0,
        })
    }

    /// True if the process has ended: it is a zombie or is being removed. A process whose first thread has ended looks like
    /// a zombie while its other threads run.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }

    /// True if the process is stopped by a signal or a debugger.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }

    /// Returns the pid and start time, which identify the process within this boot.
    pub fn key(&self) -> (u32, u64) {
        (self.pid, self.start_time)
    }

    /// Returns the current state of the same process; `None` if it does not exist any more.
    pub fn now(&self) -> Option<Stat> {
        Stat::read(self.pid).ok().filter(|now| now.start_time == self.start_time)
    }
}

/// Returns the numeric names in a folder of `/proc`: processes, threads or descriptors.
pub(super) fn numbers_in(folder: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}
