//! JSON objects one after the other in a stream, in place in one buffer that is used again and again.
//!
//! Objects may stand on a line each, as in job histories, or go on over many, as in Rumen traces; what
//! stands between them is given as text. An object that breaks off before the next one begins, at a line
//! that can only be the beginning of one, costs nothing but itself.
//!
//! Of a Rumen job the tasks are given one by one, before the job without them: so no more than a task need
//! be held.

use std::io;

use super::shape::{Item, LOOK, List, Shape};
use crate::reading::compression::{Damage, Plain};
use crate::reading::window::Window;

/// Objects longer than this are passed over.
const LONGEST: usize = 256 << 20;
/// How much of a text between objects is given.
pub(super) const TEXT: usize = 256;
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
    Text,
    Object(usize, usize),
    Head,
    Task(List, usize, usize),
    Broken,
    Cut,
    End,
}

pub(super) struct Objects<'r> {
    window: Window<'r>,
    shape: Shape,
    /// Where in the window the next byte to look at is.
    at: usize,
    /// Where what is being captured began.
    from: Option<usize>,
    state: At,
    in_string: bool,
    /// The Rumen job so far, without its tasks.
    head: Vec<u8>,
    /// Where the last string of `head` begins, after its quote.
    string_from: usize,
    /// The beginning of a text between objects.
    text: Vec<u8>,
    /// Whether what is being read is too long to be given.
    too_long: bool,
    line: u64,
    /// The line on which the last item began.
    began: u64,
}

impl<'r> Objects<'r> {
    pub(super) fn new(plain: Plain<'r>, shape: Shape) -> Self {
        Objects {
            window: Window::new(plain),
            shape,
            at: 0,
            from: None,
            state: At::Between,
            in_string: false,
            head: Vec::new(),
            string_from: 0,
            text: Vec::new(),
            too_long: false,
            line: 1,
            began: 1,
        }
    }

    /// The first bytes of a log of which nothing has been given yet, at least `least` if there are so many.
    pub(super) fn beginning(&mut self, least: usize) -> io::Result<&[u8]> {
        self.window.hold(least)
    }

    /// The line on which the last item begins, whole or not.
    pub(super) fn began(&self) -> u64 {
        self.began
    }

    /// What ended the log before its end; then what breaks off there is not given.
    pub(super) fn damage(&self) -> Option<&Damage> {
        self.window.damage()
    }

    /// Bytes of the file that were needed so far.
    pub(super) fn position(&self) -> u64 {
        self.window.position()
    }

    /// From now on the log is taken to be of this shape.
    pub(super) fn set_shape(&mut self, shape: Shape) {
        self.shape = shape;
    }

    /// What is read and not yet looked at, and the rest.
    pub(super) fn into_rest(mut self) -> (Vec<u8>, Plain<'r>) {
        self.window.take(self.at);
        self.window.into_rest()
    }

    /// The next item, and the line on which it began, from 1.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Item<'_>)>> {
        let found = self.find()?;
        let line = self.began;
        let held = self.window.held();
        let item = match found {
            Found::Text => Some(Item::Text(self.text.trim_ascii())),
            Found::Object(from, to) => Some(Item::Object(&held[from..to])),
            Found::Task(list, from, to) => Some(Item::Task(list, &held[from..to])),
            Found::Head => Some(Item::Object(&self.head)),
            Found::Broken => Some(Item::Broken),
            Found::Cut => Some(Item::Cut),
            Found::End => None,
        };
        Ok(item.map(|item| (line, item)))
    }

    fn find(&mut self) -> io::Result<Found> {
        loop {
            if self.at == self.window.held().len() {
                if self.window.ended() {
                    let cut = self.state != At::Between && self.damage().is_none();
                    self.close();
                    return Ok(if cut { Found::Cut } else { Found::End });
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
            let byte = self.window.held()[self.at];
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
                let rest = &self.window.held()[self.at..];
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
        let rest = &self.window.held()[start..];
        let (to, last) = match memchr::memchr3(b'"', b'\\', b'\n', rest) {
            Some(at) => (start + at, rest[at]),
            None => (start + rest.len(), 0),
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
                self.look(2)?;
                let to = self.window.held().len().min(self.at + 2);
                self.keep(self.at, to);
                // A line feed after it is no part of any string.
                self.at = if self.window.held()[to - 1] == b'\n' { to - 1 } else { to };
            }
            b'\n' => return self.line_end(),
            _ => {}
        }
        Ok(false)
    }

    /// Takes part of the buffer into the head of a Rumen job.
    fn keep(&mut self, from: usize, to: usize) {
        if matches!(self.state, At::Job(_)) && !self.too_long {
            self.head.extend_from_slice(&self.window.held()[from..to]);
        }
    }

    /// Steps over a line feed; whether within an object another one begins behind it.
    fn line_end(&mut self) -> io::Result<bool> {
        if self.state != At::Between {
            let shape = self.shape;
            let rest = self.look(1 + LOOK)?;
            if shape.begins(&rest[1..rest.len().min(1 + LOOK)]) {
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
        self.text.clear();
        loop {
            let rest = &self.window.held()[self.at..];
            let stop = memchr::memchr2(b'\n', b'{', rest);
            let length = stop.unwrap_or(rest.len());
            self.text.extend_from_slice(&rest[..length.min(TEXT - self.text.len())]);
            self.at += length;
            if stop.is_none() && self.window.ended() && self.damage().is_some() {
                return Ok(Found::End);
            }
            if stop.is_some() || self.window.ended() {
                return Ok(Found::Text);
            }
            self.fill()?;
        }
    }

    fn too_long(&self) -> bool {
        self.head.len() > LONGEST || self.from.is_some_and(|from| self.at - from > LONGEST)
    }

    /// What comes next, at least so many bytes if there are.
    fn look(&mut self, least: usize) -> io::Result<&[u8]> {
        while self.window.held().len() - self.at < least && !self.window.ended() {
            self.fill()?;
        }
        Ok(&self.window.held()[self.at..])
    }

    /// Reads a chunk more, letting go what is needed no more.
    fn fill(&mut self) -> io::Result<()> {
        let needed = self.from.unwrap_or(self.at).min(self.at);
        self.window.take(needed);
        self.at -= needed;
        self.from = self.from.map(|from| from - needed);
        self.window.fill()
    }
}
