//! gzip (RFC 1952), any number of members.

use std::io::{self, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::input::Input;
use super::{Compression, Damage};

pub(super) struct Gzip<R> {
    input: Input<R>,
    inflate: Decompress,
    crc: Crc,
    at: At,
    /// Found while there were still data to give out.
    damage: Option<io::Error>,
}

#[derive(Clone, Copy, PartialEq)]
enum At {
    Header { first: bool },
    Data,
    Trailer,
    End,
}

impl<R: Read> Gzip<R> {
    pub(super) fn new(input: Input<R>) -> Self {
        let (inflate, crc) = (Decompress::new(false), Crc::new());
        Gzip { input, inflate, crc, at: At::Header { first: true }, damage: None }
    }

    fn cut(&self) -> io::Error {
        Damage::cut(Compression::Gzip, self.input.position())
    }

    fn wrong(&self, why: &str) -> io::Error {
        Damage::wrong(Compression::Gzip, self.input.position(), why)
    }

    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        if self.input.take_into(&mut bytes)? < N { Err(self.cut()) } else { Ok(bytes) }
    }

    /// Takes a member's header, if there is a further member.
    fn header(&mut self, first: bool) -> io::Result<bool> {
        if !first {
            // Tape drives and some tools pad with zeros.
            while self.input.available()?.first() == Some(&0) {
                self.input.advance(1);
            }
            if self.input.available()?.is_empty() {
                return Ok(false);
            }
        }
        let [a, b, method, flags, ..] = self.take::<10>()?;
        if (a, b) != (0x1f, 0x8b) {
            return Err(self.wrong("what follows is no gzip"));
        }
        if method != 8 || flags & 0xe0 != 0 {
            return Err(self.wrong("a header that no version of gzip writes"));
        }
        if flags & 4 != 0 {
            let length = u64::from(u16::from_le_bytes(self.take()?));
            if self.input.pass(length)? < length {
                return Err(self.cut());
            }
        }
        // Name and comment end with a zero.
        for _ in 0..(flags >> 3 & 1) + (flags >> 4 & 1) {
            while self.take::<1>()? != [0] {}
        }
        if flags & 2 != 0 {
            self.take::<2>()?;
        }
        Ok(true)
    }

    /// Some of the member's data; nothing once they are through.
    fn data(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let input = self.input.available()?;
            let at_end = input.is_empty();
            let before = (self.inflate.total_in(), self.inflate.total_out());
            let result = self.inflate.decompress(input, bytes, FlushDecompress::None);
            let taken = (self.inflate.total_in() - before.0) as usize;
            let given = (self.inflate.total_out() - before.1) as usize;
            self.input.advance(taken);
            self.crc.update(&bytes[..given]);
            let damage = match result {
                Ok(Status::StreamEnd) => {
                    self.at = At::Trailer;
                    return Ok(given);
                }
                Ok(_) if given > 0 => return Ok(given),
                Ok(_) if at_end => self.cut(),
                Ok(_) => continue,
                Err(_) => self.wrong("no valid deflate data"),
            };
            if given == 0 {
                return Err(damage);
            }
            self.damage = Some(damage);
            return Ok(given);
        }
    }

    fn trailer(&mut self) -> io::Result<()> {
        let (sum, length) = (u32::from_le_bytes(self.take()?), u32::from_le_bytes(self.take()?));
        if sum != self.crc.sum() || length != self.crc.amount() {
            return Err(self.wrong("the checksum of what comes before is another"));
        }
        self.crc.reset();
        self.inflate.reset(false);
        Ok(())
    }
}

impl<R: Read> Read for Gzip<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if let Some(damage) = self.damage.take() {
            self.at = At::End;
            return Err(damage);
        }
        loop {
            let result = match self.at {
                At::End => return Ok(0),
                At::Header { first } => self.header(first).map(|more| {
                    self.at = if more { At::Data } else { At::End };
                    0
                }),
                At::Data => self.data(bytes),
                At::Trailer => self.trailer().map(|()| {
                    self.at = At::Header { first: false };
                    0
                }),
            };
            match result {
                Ok(0) => {}
                Ok(given) => return Ok(given),
                Err(error) => {
                    self.at = At::End;
                    return Err(error);
                }
            }
        }
    }
}
