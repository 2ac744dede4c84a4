//! zstd (RFC 8878), any number of frames.

use std::io::{self, Read};

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::input::Input;
use super::{Compression, Damage};

/// The largest window, 2^27 bytes: what the `zstd` tool takes without being told.
const WINDOW_LOG: u32 = 27;
const BLOCK_HEADER: usize = 3;

pub(super) struct Zstandard<R> {
    input: Input<R>,
    decoder: Decoder<'static>,
    /// How many bytes the decoder would like next: a block and the header of the one after it. It gets
    /// no more than the block at a time, so that when one is damaged everything before is given out.
    wanted: usize,
    /// Whether a frame has begun and not ended.
    within: bool,
    /// Whether the decoder may have more to give without being given anything.
    holds: bool,
    ended: bool,
}

impl<R: Read> Zstandard<R> {
    pub(super) fn new(input: Input<R>) -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG))?;
        Ok(Zstandard { input, decoder, wanted: 1, within: false, holds: false, ended: false })
    }
}

impl<R: Read> Read for Zstandard<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        while !self.ended {
            let position = self.input.position();
            let available: &[u8] = if self.holds { &[] } else { self.input.available()? };
            if available.is_empty() && !self.holds {
                self.ended = true;
                return if self.within { Err(Damage::cut(Compression::Zstd, position)) } else { Ok(0) };
            }
            let block = if self.wanted > BLOCK_HEADER { self.wanted - BLOCK_HEADER } else { self.wanted.max(1) };
            let some = &available[..available.len().min(block)];
            let (mut from, mut to) = (InBuffer::around(some), OutBuffer::around(&mut *bytes));
            let result = self.decoder.run(&mut from, &mut to);
            let (taken, given) = (from.pos(), to.pos());
            self.input.advance(taken);
            match result {
                Ok(0) => {
                    self.within = false;
                    self.holds = false;
                    self.wanted = 1;
                    self.decoder.reinit()?;
                }
                Ok(wanted) => {
                    self.within = true;
                    self.wanted = wanted;
                    self.holds = given == bytes.len();
                }
                Err(error) => {
                    self.ended = true;
                    let why = if self.within || position == 0 {
                        error.to_string()
                    } else {
                        "what follows is no zstd".to_owned()
                    };
                    return Err(Damage::wrong(Compression::Zstd, position, why));
                }
            }
            if given > 0 {
                return Ok(given);
            }
        }
        Ok(0)
    }
}
