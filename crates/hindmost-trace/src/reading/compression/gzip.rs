//! Reads gzip (RFC 1952) with any number of members.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// Reads gzip members one after the other. `MultiGzDecoder` of `flate2` is not used, because it takes zero padding,
/// which tape drives and some tools add, for a damaged member.
pub(super) struct Members<R> {
    /// The decoder of the current member; `None` after the last member.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    pub(super) fn new(input: R) -> Self {
        Members { member: Some(GzDecoder::new(input)) }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let given = member.read(bytes)?;
            if given > 0 || bytes.is_empty() {
                return Ok(given);
            }
            self.member = next(self.member.take().map(GzDecoder::into_inner))?;
        }
        Ok(0)
    }
}

fn next<R: BufRead>(input: Option<R>) -> io::Result<Option<GzDecoder<R>>> {
    let Some(mut input) = input else { return Ok(None) };
    loop {
        match input.fill_buf()?.first() {
            None => return Ok(None),
            Some(0) => input.consume(1),
            Some(0x1f) => return Ok(Some(GzDecoder::new(input))),
            Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "the data that follow are not gzip")),
        }
    }
}
