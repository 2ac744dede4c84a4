//! What `/proc/PID/stat` tells about a process, read with as few system calls as possible: trees are
//! listed while their processes run, and the sooner that is done the less has changed.

use std::fs::File;
use std::io::{self, Read};

/// Ticks a second in `/proc`, which the kernel keeps at this (`USER_HZ`) for programs whatever its own
/// clock does.
pub(super) const TICKS_PER_SECOND: f64 = 100.0;

/// Longer than the line can get: at most 64 bytes of name and 50 numbers of 20 digits.
const LONGEST: usize = 2048;

/// One process at one moment.
#[derive(Clone, Debug)]
pub(super) struct Stat {
    pub pid: u32,
    state: u8,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    /// The device number of the controlling terminal, 0 if there is none.
    pub terminal: u64,
    /// What all its threads have computed, in the kernel and outside.
    pub cpu_ticks: u64,
    pub threads: u64,
    pub start_time: u64,
    /// Kernel threads have no memory of their own, nor have processes that have ended.
    pub has_memory: bool,
}

impl Stat {
    /// Reads it; the error is `NotFound` if there is no such process.
    pub fn read(pid: u32) -> io::Result<Stat> {
        // One without threads is just being reaped, and is gone the next time; unless another of its
        // threads has become the first one, by executing another program.
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
            // It ended after its file had been opened.
            Some(rustix::io::Errno::SRCH) => io::ErrorKind::NotFound.into(),
            _ => error,
        })?;
        Stat::parse(pid, &buffer[..length])
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat isn't as expected")))
    }

    /// Understands `pid (name) state parent …`. The name may be anything, brackets included, so what
    /// counts is the last one.
    pub fn parse(pid: u32, line: &[u8]) -> Option<Stat> {
        let name_ends = line.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(&line[name_ends + 1..]).ok()?;
        // Fields are counted from 1 in proc(5), and the one after the name is the third.
        let fields: Vec<&str> = rest.split_ascii_whitespace().take(21).collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let number = |of: usize| field(of)?.parse::<u64>().ok();
        // One that is just being reaped has left its group and session: -1, taken as 0.
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

    /// Whether it has ended: it is a zombie, or about to vanish. One whose first thread has ended
    /// looks like a zombie while its other threads go on.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }

    /// Whether it is halted, by a signal or a debugger.
    pub fn is_halted(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }

    /// What tells it from every other process of this start of the machine.
    pub fn key(&self) -> (u32, u64) {
        (self.pid, self.start_time)
    }

    /// What is told about the same process now; none if it is gone.
    pub fn now(&self) -> Option<Stat> {
        Stat::read(self.pid).ok().filter(|now| now.start_time == self.start_time)
    }
}

/// The numbers that name entries of a folder of `/proc`: processes, threads or descriptors.
pub(super) fn numbers_in(folder: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}
