//! Reads the chunks of LZF that Spark's `lzf` codec writes (`LZFOutputStream` of compress-lzf, the format of LibLZF).

use std::io::{self, BufRead};
use std::rc::Rc;

use super::blocks::{NextBlock, sized};
use super::damage::{cut, wrong};
use super::input::{Place, take, take_more};

/// The kind of a chunk that is stored uncompressed.
pub(super) const STORED: u8 = 0;
/// The kind of a compressed chunk.
pub(super) const PACKED: u8 = 1;

/// Bytes of a chunk's header before its length in decompressed form, which only a compressed chunk has.
const HEADER: usize = 5;
/// The shortest run of bytes that a back reference copies is longer than the number in its first byte by this.
const SHORTEST: usize = 2;

/// Reads chunks, each with a header: 2 magic bytes, 1 byte for the kind, and 2 big-endian bytes for the length of the
/// data that follow. The header of a compressed chunk ends with 2 bytes for the decompressed length. There is neither a
/// checksum nor an end mark.
pub(super) struct Chunks<R> {
    input: R,
    place: Rc<Place>,
    packed: Vec<u8>,
}

impl<R: BufRead> Chunks<R> {
    pub(super) fn new(input: R, place: Rc<Place>) -> Self {
        Chunks { input, place, packed: Vec::new() }
    }
}

impl<R: BufRead> NextBlock for Chunks<R> {
    fn next_block(&mut self, block: &mut Vec<u8>) -> io::Result<Option<usize>> {
        loop {
            let at = self.place.position();
            let packed = &mut self.packed;
            let whole = take(&mut self.input, packed, HEADER)?;
            match packed[..] {
                [] => return Ok(None),
                [b'Z'] | [b'Z', b'V'] | [b'Z', b'V', STORED | PACKED, ..] => {}
                _ => return Err(wrong(at, "no LZF chunk begins here")),
            }
            if !whole {
                return Err(cut());
            }
            let length = usize::from(word(&packed[3..]));
            if packed[2] == STORED {
                if !take(&mut self.input, packed, length)? {
                    return Err(cut());
                }
                if length == 0 {
                    continue;
                }
                sized(block, length).copy_from_slice(packed);
                return Ok(Some(length));
            }
            if !take(&mut self.input, packed, 2)? {
                return Err(cut());
            }
            let plain = usize::from(word(packed));
            packed.clear();
            if !take_more(&mut self.input, packed, length)? {
                return Err(cut());
            }
            if decompress(packed, sized(block, plain)).is_none() {
                return Err(wrong(at, format!("the data of the chunk are not {plain} bytes of LZF")));
            }
            if plain > 0 {
                return Ok(Some(plain));
            }
        }
    }
}

/// Parses the first 2 bytes as a big-endian number.
fn word(bytes: &[u8]) -> u16 {
    bytes.iter().take(2).fold(0, |word, &byte| word << 8 | u16::from(byte))
}

/// Decompresses a chunk's data into `plain`, which must have the length of the decompressed data; `None` if the data are
/// invalid or have another length.
///
/// A byte below 32 stands before that many bytes plus 1, which are copied. In any other byte, the upper 3 bits and the
/// lower 5 bits with the next byte are the length and the distance of a back reference. A length of 7 is increased by
/// the byte between them.
fn decompress(mut packed: &[u8], plain: &mut [u8]) -> Option<()> {
    let mut at = 0;
    while let Some((&control, rest)) = packed.split_first() {
        let control = usize::from(control);
        if control < 32 {
            let (literal, rest) = rest.split_at_checked(control + 1)?;
            plain.get_mut(at..at + literal.len())?.copy_from_slice(literal);
            at += literal.len();
            packed = rest;
            continue;
        }
        let (length, rest) = match control >> 5 {
            7 => rest.split_first().map(|(&more, rest)| (7 + usize::from(more), rest))?,
            length => (length, rest),
        };
        let (&low, rest) = rest.split_first()?;
        let mut from = at.checked_sub(((control & 31) << 8 | usize::from(low)) + 1)?;
        let end = at + length + SHORTEST;
        if end > plain.len() {
            return None;
        }
        // The copied bytes may overlap the bytes that they are copied from.
        while at < end {
            plain[at] = plain[from];
            (at, from) = (at + 1, from + 1);
        }
        packed = rest;
    }
    (at == plain.len()).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_references_may_overlap_their_copy() {
        let unpacked = |packed: &[u8], length: usize| {
            let mut plain = vec![0; length];
            decompress(packed, &mut plain).map(|()| plain)
        };
        assert_eq!(unpacked(b"\x02abc", 3).unwrap(), b"abc");
        // "ab", then 3 bytes from 2 bytes before.
        assert_eq!(unpacked(b"\x01ab\x20\x01", 5).unwrap(), b"ababa");
        // "a", then 7 + 3 + 2 bytes from 1 byte before.
        assert_eq!(unpacked(b"\x00a\xe0\x03\x00", 13).unwrap(), b"aaaaaaaaaaaaa");
        // A distance of 256 + 1 bytes.
        let long = [&[31][..], &[b'x'; 32], &[0xe0, 215, 0], &[0, b'y'], &[0x21, 0]].concat();
        assert_eq!(unpacked(&long, 260).unwrap()[257..], *b"xxx");
        assert_eq!(unpacked(b"", 0).unwrap(), b"");
        // A literal and a reference that end early, a reference before the beginning, and two wrong lengths.
        for wrong in [&b"\x02ab"[..], b"\x01ab\x20", b"\x01ab\xe0", b"\x01ab\x20\x02", b"\x03abcd", b"\x01ab"] {
            assert_eq!(unpacked(wrong, 3), None, "{wrong:?}");
        }
    }
}
