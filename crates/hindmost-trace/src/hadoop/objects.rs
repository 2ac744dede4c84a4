//! JSON objects one after the other in a stream, in place in one buffer that is used again and again.
//!
//! Objects may stand on a line each, as in job histories, or go on over many, as in Rumen traces; what
//! stands between them is given as text. An object that breaks off before the next one begins, at a line
//! that can only be the beginning of one, costs nothing but itself.
//!
//! Of a Rumen job the tasks are given one by one, before the job without them: so no more than a task need
//! be held.

use std::io::{self, Read};

/// Bytes asked of the system at a time.
pub(super) const CHUNK: usize = 256 << 10;
/// Objects longer than this are passed over.
const LONGEST: usize = 256 << 20;
/// How much of a text between objects is given.
pub(super) const TEXT: usize = 256;
/// How much of a line is looked at to tell whether an object begins there.
const LOOK: usize = 96;

/// What the log is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Events of a job history, each with its type first.
    Events,
    /// Jobs of Rumen, whose tasks are given one by one.
    Jobs,
}

/// Which of a Rumen job's lists a task stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Maps,
    Reduces,
    Others,
}

#[derive(Debug, PartialEq)]
pub(super) enum Item<'a> {
    /// Text between objects, without blanks around it; of a long one the beginning.
    Text(&'a [u8]),
    /// A whole object; of a Rumen job, without its tasks.
    Object(&'a [u8]),
    /// A task of the Rumen job that is given next.
    Task(List, &'a [u8]),
    /// An object that breaks off where the next one begins, or that is too long.
    Broken,
    /// The log ends within an object.
    Cut,
}

/// Where in the text the scanner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Between,
    /// In an object that is given whole; with how many braces open.
    Object(u32),
    /// In a Rumen job outside its tasks.
    Job(u32),
    /// In one of its lists, between tasks.
    List(List),
    Task(List, u32),
}

/// What the next step found; ranges are of the buffer.
enum Found {
    Text(usize, usize),
    Object(usize, usize),
    Head,
    Task(List, usize, usize),
    Broken,
    Cut,
    End,
}

pub(super) struct Objects<R> {
    reader: R,
    shape: Shape,
    buffer: Vec<u8>,
    /// Where the next byte to look at is.
    at: usize,
    /// Where the bytes read end.
    end: usize,
    /// Where what is being captured began.
    from: Option<usize>,
    ended: bool,
    state: At,
    in_string: bool,
    /// The Rumen job so far, without its tasks.
    head: Vec<u8>,
    /// Where the last string of `head` begins, after its quote.
    string_from: usize,
    /// Whether what is being read is too long to be given.
    too_long: bool,
    line: u64,
    /// The line on which the last item began.
    began: u64,
}

impl<R: Read> Objects<R> {
    pub(super) fn new(reader: R, shape: Shape) -> Self {
        Objects {
            reader,
            shape,
            buffer: vec![0; CHUNK],
            at: 0,
            end: 0,
            from: None,
            ended: false,
            state: At::Between,
            in_string: false,
            head: Vec::new(),
            string_from: 0,
            too_long: false,
            line: 1,
            began: 1,
        }
    }

    /// The first bytes of the log, at least `least` if there are so many.
    pub(super) fn beginning(&mut self, least: usize) -> io::Result<&[u8]> {
        while self.end < least && !self.ended {
            self.fill()?;
        }
        Ok(&self.buffer[..self.end])
    }

    /// The bytes that have been read of a log of which nothing has been given yet.
    pub(super) fn begun(&self) -> &[u8] {
        &self.buffer[..self.end]
    }

    /// From now on the log is taken to be of this shape.
    pub(super) fn set_shape(&mut self, shape: Shape) {
        self.shape = shape;
    }

    /// What is read and not yet looked at, and the reader of the rest.
    pub(super) fn into_rest(mut self) -> (Vec<u8>, R) {
        self.buffer.truncate(self.end);
        self.buffer.drain(..self.at);
        (self.buffer, self.reader)
    }

    /// The next item, and the line on which it began, from 1.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Item<'_>)>> {
        let found = self.find()?;
        let line = self.began;
        let item = match found {
            Found::Text(from, to) => Some(Item::Text(&self.buffer[from..to])),
            Found::Object(from, to) => Some(Item::Object(&self.buffer[from..to])),
            Found::Task(list, from, to) => Some(Item::Task(list, &self.buffer[from..to])),
            Found::Head => Some(Item::Object(&self.head)),
            Found::Broken => Some(Item::Broken),
            Found::Cut => Some(Item::Cut),
            Found::End => None,
        };
        Ok(item.map(|item| (line, item)))
    }

    fn find(&mut self) -> io::Result<Found> {
        loop {
            if self.at == self.end {
                if self.ended {
                    let open = self.state != At::Between;
                    self.close();
                    return Ok(if open { Found::Cut } else { Found::End });
                }
                self.fill()?;
                continue;
            }
            if self.too_long() {
                self.too_long = true;
                self.from = None;
                self.head.clear();
            }
            if self.in_string {
                if self.string()? {
                    return Ok(self.broken());
                }
                continue;
            }
            let byte = self.buffer[self.at];
            if byte == b'\n' {
                if self.line_end()? {
                    return Ok(self.broken());
                }
                continue;
            }
            match self.state {
                At::Between => match byte {
                    b'{' => self.open(),
                    b' ' | b'\t' | b'\r' | b',' | b'[' | b']' => self.at += 1,
                    _ => return self.text(),
                },
                At::Object(depth) => match self.nested(byte, depth) {
                    Some(0) => {
                        let (from, to) = (self.from.take(), self.at);
                        self.close();
                        return Ok(from.map_or(Found::Broken, |from| Found::Object(from, to)));
                    }
                    Some(depth) => self.state = At::Object(depth),
                    None => {}
                },
                At::Job(depth) => {
                    if self.job(byte, depth) {
                        let long = self.too_long;
                        self.close();
                        return Ok(if long { Found::Broken } else { Found::Head });
                    }
                }
                At::List(list) => {
                    match byte {
                        b'{' => {
                            self.from = Some(self.at);
                            self.state = At::Task(list, 1);
                        }
                        b']' => self.state = At::Job(1),
                        b'"' => self.in_string = true,
                        _ => {}
                    }
                    self.at += 1;
                }
                At::Task(list, depth) => match self.nested(byte, depth) {
                    Some(0) => {
                        self.state = At::List(list);
                        if let Some(from) = self.from.take() {
                            return Ok(Found::Task(list, from, self.at));
                        }
                    }
                    Some(depth) => self.state = At::Task(list, depth),
                    None => {}
                },
            }
        }
    }

    /// An object begins here.
    fn open(&mut self) {
        self.began = self.line;
        self.head.clear();
        match self.shape {
            Shape::Events => {
                self.from = Some(self.at);
                self.state = At::Object(1);
            }
            Shape::Jobs => {
                self.head.push(b'{');
                self.state = At::Job(1);
            }
        }
        self.at += 1;
    }

    /// The object is over, however. The job's head stays until the next one begins.
    fn close(&mut self) {
        self.state = At::Between;
        self.in_string = false;
        self.from = None;
        self.too_long = false;
    }

    fn broken(&mut self) -> Found {
        self.close();
        Found::Broken
    }

    /// Steps over a byte outside strings, in an object that is captured: the braces then open, if that
    /// has changed.
    fn nested(&mut self, byte: u8, depth: u32) -> Option<u32> {
        self.at += 1;
        match byte {
            b'{' => Some(depth.saturating_add(1)),
            b'}' => Some(depth - 1),
            b'"' => {
                self.in_string = true;
                None
            }
            _ => {
                // Most bytes are of this kind: go on to the next that matters.
                let rest = &self.buffer[self.at..self.end];
                let plain = rest.iter().position(|b| matches!(b, b'{' | b'}' | b'"' | b'\n'));
                self.at += plain.unwrap_or(rest.len());
                None
            }
        }
    }

    /// Steps over a byte of a Rumen job outside its tasks; whether the job ends there.
    fn job(&mut self, byte: u8, depth: u32) -> bool {
        self.at += 1;
        match byte {
            b'{' => self.state = At::Job(depth.saturating_add(1)),
            b'}' => self.state = At::Job(depth - 1),
            b'"' => {
                self.in_string = true;
                self.string_from = self.head.len() + 1;
            }
            b'[' if depth == 1 && !self.too_long => {
                let list = match self.last_key() {
                    b"mapTasks" => Some(List::Maps),
                    b"reduceTasks" => Some(List::Reduces),
                    b"otherTasks" => Some(List::Others),
                    _ => None,
                };
                if let Some(list) = list {
                    self.state = At::List(list);
                    self.head.extend_from_slice(b"[]");
                    return false;
                }
            }
            _ => {}
        }
        if !self.too_long {
            self.head.push(byte);
        }
        depth == 1 && byte == b'}'
    }

    /// The string before the colon that `head` ends with.
    fn last_key(&self) -> &[u8] {
        let before = self.head.trim_ascii_end().strip_suffix(b":").map(<[u8]>::trim_ascii_end);
        let key = before.and_then(|text| text.strip_suffix(b"\""));
        key.and_then(|text| text.get(self.string_from..)).unwrap_or_default()
    }

    /// Goes on to the end of a string, of the line or of the buffer; whether another object begins
    /// there, so that the string is one that breaks off.
    fn string(&mut self) -> io::Result<bool> {
        let start = self.at;
        let rest = &self.buffer[start..self.end];
        let (to, last) = match memchr::memchr3(b'"', b'\\', b'\n', rest) {
            Some(at) => (start + at, rest[at]),
            None => (self.end, 0),
        };
        self.keep(start, to);
        self.at = to;
        match last {
            b'"' => {
                self.in_string = false;
                self.keep(to, to + 1);
                self.at += 1;
            }
            b'\\' => {
                while self.end - self.at < 2 && !self.ended {
                    self.fill()?;
                }
                let to = self.end.min(self.at + 2);
                self.keep(self.at, to);
                // A line feed after it is no part of any string.
                self.at = if self.buffer.get(to - 1) == Some(&b'\n') { to - 1 } else { to };
            }
            b'\n' => return self.line_end(),
            _ => {}
        }
        Ok(false)
    }

    /// Takes part of the buffer into the head of a Rumen job.
    fn keep(&mut self, from: usize, to: usize) {
        if matches!(self.state, At::Job(_)) && !self.too_long {
            self.head.extend_from_slice(&self.buffer[from..to]);
        }
    }

    /// Steps over a line feed; whether within an object another one begins behind it.
    fn line_end(&mut self) -> io::Result<bool> {
        if self.state != At::Between {
            while self.end - self.at <= LOOK && !self.ended {
                self.fill()?;
            }
            let rest = &self.buffer[self.at + 1..self.end.min(self.at + 1 + LOOK)];
            if begins(rest, self.shape) {
                self.at += 1;
                self.line += 1;
                return Ok(true);
            }
            self.keep(self.at, self.at + 1);
        }
        self.at += 1;
        self.line += 1;
        Ok(false)
    }

    /// Text between objects, up to the end of the line or the next object.
    fn text(&mut self) -> io::Result<Found> {
        self.began = self.line;
        self.from = Some(self.at);
        let mut kept = 0;
        loop {
            let rest = &self.buffer[self.at..self.end];
            let stop = memchr::memchr2(b'\n', b'{', rest);
            self.at += stop.unwrap_or(rest.len());
            let from = self.from.unwrap_or(self.at);
            if stop.is_some() || self.ended {
                self.from = None;
                let to = if kept > 0 { from + kept } else { self.at.min(from + TEXT) };
                let trimmed = self.buffer[from..to].trim_ascii().len();
                return Ok(Found::Text(from, from + trimmed));
            }
            if self.at - from > TEXT {
                // Enough of it is kept; the rest is passed over in the same room.
                kept = TEXT;
                self.buffer.copy_within(self.at..self.end, from + TEXT);
                self.end -= self.at - (from + TEXT);
                self.at = from + TEXT;
            }
            self.fill()?;
        }
    }

    fn too_long(&self) -> bool {
        self.head.len() > LONGEST || self.from.is_some_and(|from| self.at - from > LONGEST)
    }

    /// Reads a chunk more, moving what is still needed to the front.
    fn fill(&mut self) -> io::Result<()> {
        let needed = self.from.unwrap_or(self.at).min(self.at);
        self.buffer.copy_within(needed..self.end, 0);
        self.end -= needed;
        self.at -= needed;
        self.from = self.from.map(|from| from - needed);
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        } else if self.buffer.len() > 16 * CHUNK && self.end < CHUNK {
            // A giant object has gone by.
            self.buffer.truncate(2 * CHUNK);
            self.buffer.shrink_to_fit();
        }
        let read = loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.end += read;
        self.ended = read == 0;
        Ok(())
    }
}

/// Whether a line that begins so can only be the beginning of an object, or of another log's text.
fn begins(line: &[u8], shape: Shape) -> bool {
    match shape {
        Shape::Events => {
            let line = line.trim_ascii_start();
            let kind = line.strip_prefix(br#"{"type":""#).and_then(<[u8]>::first);
            kind.is_some_and(u8::is_ascii_uppercase) || line.starts_with(b"Avro-")
        }
        Shape::Jobs => {
            let key = line.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
            let key = key.and_then(|text| text.strip_prefix(b"\"")).and_then(|text| text.split(|b| *b == b'"').next());
            // Keys that a job has and its tasks and attempts have not.
            key.is_some_and(|key| {
                [&b"jobID"[..], b"priority", b"user", b"jobName", b"submitTime", b"launchTime", b"mapTasks", b"queue"]
                    .contains(&key)
                    || [&b"reduceTasks"[..], b"otherTasks", b"outcome", b"jobtype", b"totalMaps", b"jobProperties"]
                        .contains(&key)
            })
        }
    }
}
