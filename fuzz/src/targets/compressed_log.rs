//! Reads compressed logs. The first byte of the input selects how the other bytes are used: as data after the magic
//! bytes of a compression, or as a log that is compressed, read, compared with the plain log, and then damaged at one
//! byte and cut.

use std::io::Write;

use crate::support::{CODECS, packed};
use crate::{check_summary, read_log};
use hindmost_core::metrics::{Diagnosis, Findings};
use hindmost_trace::{Kind, TraceError, TraceSummary, Wanted};

const MAGIC: [&[u8]; 7] = [
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"\x50\x2a\x4d\x18",
    b"LZ4Block",
    b"\x04\x22\x4d\x18",
    b"\x82SNAPPY\0",
    b"\xff\x06\x00\x00sNaPpY",
];

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(data: &[u8]) {
    let [how, at, change, data @ ..] = data else { return };
    let how = usize::from(*how);
    if how < 128 {
        let begun = [MAGIC[how % MAGIC.len()], data].concat();
        read(&begun);
        return;
    }
    let plain = diagnose_spark(data).map_err(|error| error.to_string());
    let codecs = CODECS.len() + 2;
    let mut log = match CODECS.get(how % codecs) {
        Some(codec) => packed(codec, data),
        None => framed(how % codecs == CODECS.len(), data),
    };
    let unpacked = diagnose_spark(&log).map_err(|error| error.to_string());
    // If the data is not a log, the errors differ, because they describe the compressed and the plain bytes.
    if plain.is_ok() || unpacked.is_ok() {
        assert_eq!(unpacked, plain);
    }
    if log.is_empty() {
        return;
    }
    let place = usize::from(*at) * log.len() / 256;
    log[place] ^= change;
    read(&log);
    log.truncate(place);
    read(&log);
}

/// Reads a log that may be damaged and checks that all readers agree on whether it is readable, and that the counts are
/// consistent.
fn read(log: &[u8]) {
    let diagnosed = read_log(Kind::Spark, log, Wanted::DIAGNOSES);
    assert_eq!(read_log(Kind::Spark, log, Wanted::REPLAYS).is_ok(), diagnosed.is_ok());
    for found in diagnosed.into_iter().chain(read_log(Kind::Hadoop, log, Wanted::DIAGNOSES)) {
        check_summary(&found.summary);
    }
}

fn diagnose_spark(log: &[u8]) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    let found = read_log(Kind::Spark, log, Wanted::DIAGNOSES)?;
    Ok((found.summary, found.findings, found.diagnoses))
}

/// Compresses data in the frame format of LZ4 or Snappy, which command line tools write.
fn framed(lz4: bool, data: &[u8]) -> Vec<u8> {
    if lz4 {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(data).expect("writing to memory succeeds");
        return encoder.finish().expect("writing to memory succeeds");
    }
    let mut encoder = snap::write::FrameEncoder::new(Vec::new());
    encoder.write_all(data).expect("writing to memory succeeds");
    encoder.into_inner().expect("writing to memory succeeds")
}
