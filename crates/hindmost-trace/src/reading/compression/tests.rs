//! Tests of all formats: data are read whole and in pieces, cut at every byte, and damaged at every byte.

use std::io::{Read, Write};

use xxhash_rust::xxh32::xxh32;

use super::lz4::{SEED, SUM_BITS};
use super::{Compression, Damage, Plain};
use crate::reading::testing::Drip;

#[path = "../../../tests/it/support/lzf.rs"]
mod lzf;

/// Returns text that compresses about as well as a log.
fn text(lines: usize) -> Vec<u8> {
    let line = |i: usize| format!("{{\"Event\":\"SparkListenerTaskEnd\",\"Task\":{},\"x\":{}}}\n", i, i * 7919 % 1013);
    (0..lines).map(line).collect::<String>().into_bytes()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(data: &[u8]) -> Vec<u8> {
    zstd::encode_all(data, 1).unwrap()
}

/// Compresses as lz4-java does, with blocks of 2^`level` KiB and an end mark.
fn lz4_blocks(data: &[u8], level: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let mut block = |method: u8, packed: &[u8], length: usize, sum: u32| {
        out.extend_from_slice(b"LZ4Block");
        out.push(method | level);
        for word in [packed.len() as u32, length as u32, sum] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(packed);
    };
    for chunk in data.chunks(1024 << level) {
        let sum = xxh32(chunk, SEED) & SUM_BITS;
        let packed = lz4_flex::block::compress(chunk);
        if packed.len() < chunk.len() {
            block(0x20, &packed, chunk.len(), sum);
        } else {
            block(0x10, chunk, chunk.len(), sum);
        }
    }
    block(0x10, &[], 0, 0);
    out
}

/// Compresses as snappy-java does, with chunks of `size` bytes.
fn snappy_chunks(data: &[u8], size: usize) -> Vec<u8> {
    let mut out = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    for chunk in data.chunks(size) {
        let packed = snap::raw::Encoder::new().compress_vec(chunk).unwrap();
        out.extend_from_slice(&(packed.len() as u32).to_be_bytes());
        out.extend_from_slice(&packed);
    }
    out
}

fn snappy_frames(data: &[u8]) -> Vec<u8> {
    let mut encoder = snap::write::FrameEncoder::new(Vec::new());
    encoder.write_all(data).unwrap();
    encoder.into_inner().unwrap()
}

/// Returns a frame with blocks of up to 64 KiB and all checksums. `linked` blocks refer to data of earlier blocks.
fn lz4_frame(data: &[u8], linked: bool) -> Vec<u8> {
    let mut out = vec![0x04, 0x22, 0x4d, 0x18];
    let described = [0x40 | u8::from(!linked) << 5 | 0x14, 0x40];
    out.extend_from_slice(&described);
    out.push((xxh32(&described, 0) >> 8) as u8);
    for (number, chunk) in data.chunks(20_000).enumerate() {
        let from = number * 20_000;
        let before = &data[from.saturating_sub(65_536)..from];
        let before = if linked { before } else { &[] };
        let packed = lz4_flex::block::compress_with_dict(chunk, before);
        let (packed, mark) = if number == 1 { (chunk.to_vec(), 1 << 31) } else { (packed, 0) };
        out.extend_from_slice(&(packed.len() as u32 | mark).to_le_bytes());
        out.extend_from_slice(&packed);
        out.extend_from_slice(&xxh32(&packed, 0).to_le_bytes());
    }
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&xxh32(data, 0).to_le_bytes());
    out
}

fn formats(data: &[u8]) -> Vec<(Compression, Vec<u8>)> {
    vec![
        (Compression::Gzip, gzip(data)),
        (Compression::Zstd, zstandard(data)),
        (Compression::Lz4Blocks, lz4_blocks(data, 5)),
        (Compression::Lz4Blocks, lz4_blocks(data, 0)),
        (Compression::Lz4Frames, lz4_frame(data, false)),
        (Compression::Lz4Frames, lz4_frame(data, true)),
        (Compression::SnappyChunks, snappy_chunks(data, 32 << 10)),
        (Compression::SnappyFrames, snappy_frames(data)),
        (Compression::LzfChunks, lzf::chunks(data, 65_535, false)),
        (Compression::LzfChunks, lzf::chunks(data, 1000, true)),
    ]
}

/// Decompresses data; returns the data before any damage, and the damage.
fn read(packed: &[u8]) -> (Vec<u8>, Option<Damage>) {
    read_from(packed)
}

fn read_from(packed: impl Read) -> (Vec<u8>, Option<Damage>) {
    let mut plain = Plain::new(packed).unwrap();
    let mut data = Vec::new();
    plain.read_to_end(&mut data).unwrap();
    assert_eq!(plain.read(&mut [0; 8]).unwrap(), 0, "nothing after the end");
    (data, plain.damage().cloned())
}

#[test]
fn every_format_is_read_in_any_chunk_size() {
    for lines in [0, 1, 10, 4000] {
        let data = text(lines);
        for (compression, packed) in formats(&data) {
            assert_eq!(
                Compression::of(&packed),
                if lines == 0 && packed.is_empty() { Compression::None } else { compression }
            );
            for drip in [1, 7, 4096, usize::MAX] {
                let (read, damage) = read_from(Drip(&packed, drip));
                assert_eq!(damage, None, "{compression:?}");
                assert!(read == data, "{compression:?} {lines} {drip}");
            }
        }
    }
    let plain = text(9);
    assert_eq!(read(&plain), (plain.clone(), None));
    assert_eq!(read(b""), (Vec::new(), None));
}

#[test]
fn concatenated_streams_are_read_as_one() {
    let (one, two) = (text(3000), text(5));
    for ((compression, mut packed), (_, second)) in formats(&one).into_iter().zip(formats(&two)) {
        packed.extend(second);
        let (data, damage) = read(&packed);
        assert_eq!(damage, None, "{compression:?}");
        assert!(data == [one.as_slice(), &two].concat(), "{compression:?}");
    }
    // Between two streams there may be zero padding (gzip) or skippable frames (zstd and LZ4).
    let skipped = b"\x51\x2a\x4d\x18\x03\0\0\0abc";
    let zeros = [gzip(&one), vec![0; 700], gzip(&two), vec![0; 3]].concat();
    let zstd = [skipped.to_vec(), zstandard(&one), skipped.to_vec(), zstandard(&two)].concat();
    let lz4 = [lz4_frame(&one, true), skipped.to_vec(), lz4_frame(&two, true)].concat();
    for packed in [zeros, zstd, lz4] {
        assert_eq!(read(&packed), ([one.as_slice(), &two].concat(), None));
    }
}

#[test]
fn gzip_headers_with_all_optional_fields_are_read() {
    let mut encoder = flate2::GzBuilder::new()
        .filename("log.json")
        .comment("a comment")
        .extra(vec![7; 300])
        .write(Vec::new(), flate2::Compression::best());
    encoder.write_all(b"data").unwrap();
    let mut packed = encoder.finish().unwrap();
    assert_eq!(read(&packed), (b"data".to_vec(), None));
    packed.extend_from_slice(b"something else");
    let (data, damage) = read(&packed);
    assert_eq!(data, b"data");
    assert!(damage.unwrap().to_string().contains("the data that follow are not gzip"));
}

#[test]
fn data_before_a_cut_are_read() {
    // A zstd block holds up to 128 KiB, and the decoder returns its data only when the block is complete.
    let data = text(8000);
    for (compression, packed) in formats(&data) {
        let mut longest = 0;
        for cut in (10..packed.len()).step_by(211).chain(packed.len() - 30..packed.len()) {
            let (read, damage) = read(&packed[..cut]);
            assert!(data.starts_with(&read), "{compression:?} cut at {cut}");
            longest = longest.max(read.len());
            // Snappy's formats and LZF have no end mark: a cut between chunks can't be noticed.
            let between =
                matches!(compression, Compression::SnappyChunks | Compression::SnappyFrames | Compression::LzfChunks);
            match damage {
                Some(damage) => {
                    assert!(damage.why.is_none(), "{compression:?} cut at {cut}: {damage}");
                    assert!(damage.to_string().contains("break off at byte"), "{damage}");
                }
                None => assert!(between, "{compression:?} cut at {cut}"),
            }
        }
        assert!(longest * 3 > data.len() * 2, "{compression:?}: only {longest} of {}", data.len());
    }
}

#[test]
fn damage_is_reported_and_damaged_data_are_not_returned() {
    let data = text(1500);
    for (compression, packed) in formats(&data) {
        // Snappy's and LZF's chunks have no checksum; one flipped bit turns a Snappy frame into padding; Rust's zstd writes no
        // checksum.
        let checked = matches!(compression, Compression::Gzip | Compression::Lz4Blocks | Compression::Lz4Frames);
        for at in (10..packed.len()).step_by(7) {
            for change in [0xff, 0x01, 0x80] {
                let mut damaged = packed.clone();
                damaged[at] ^= change;
                let (read, damage) = read(&damaged);
                // Changes of a length or a file name in a header, and of data without a checksum, may go unnoticed.
                if checked && damage.is_none() {
                    assert!(read == data, "{compression:?} {change:#x} at {at}");
                }
                if let Some(damage) = damage {
                    assert!(damage.to_string().contains(" at byte "), "{damage}");
                }
            }
        }
    }
}

#[test]
fn data_before_damage_are_read() {
    let data = text(20_000);
    for (compression, packed) in formats(&data) {
        let at = packed.len() * 3 / 4;
        let mut damaged = packed.clone();
        damaged[at..at + 40].iter_mut().for_each(|byte| *byte = !*byte);
        let (read, damage) = read(&damaged);
        // LZF has no checksum: damage in a chunk that is stored uncompressed changes the data.
        let stored = compression == Compression::LzfChunks && packed[2] == 0;
        if !stored {
            let damage = damage.unwrap_or_else(|| panic!("{compression:?}"));
            assert!(damage.why.is_some() || compression == Compression::Lz4Blocks, "{damage}");
        }
        let same = read.iter().zip(&data).take_while(|(a, b)| a == b).count();
        assert!(same * 2 > data.len(), "{compression:?}: {same} of {}", data.len());
    }
}

#[test]
fn impossible_lengths_allocate_nothing() {
    let block = |method: u8, packed: u32, length: u32| {
        let mut out = b"LZ4Block".to_vec();
        out.push(method);
        out.extend([packed, length, 0].iter().flat_map(|word| word.to_le_bytes()));
        out.extend_from_slice(&[0; 100]);
        out
    };
    let said = |packed: &[u8]| read(packed).1.unwrap().to_string();
    assert!(said(&block(0x2f, 90, 32 << 20)).contains("can't have"));
    assert!(said(&block(0x25, 90, 40 << 10)).contains("can't have"));
    assert!(said(&block(0x25, u32::MAX, 30 << 10)).contains("can't have"));
    assert!(said(&block(0x15, 90, 91)).contains("can't have"));
    assert!(said(&block(0x35, 90, 90)).contains("method"));
    assert!(said(&block(0x25, 90, 100)).contains("damaged at byte 0"));
    let chunk = |length: u32, data: &[u8]| {
        let mut out = snappy_chunks(b"", 1);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(data);
        out
    };
    // A chunk of 100 bytes that claims 4 GiB; 2 GiB of data in a chunk of 64 KiB; an empty chunk.
    assert!(said(&chunk(100, b"\xff\xff\xff\xff\x0f")).contains("can't be right"));
    assert!(said(&chunk(2 << 30, b"\x80\x80\x04aaaa")).contains("can't be right"));
    assert!(said(&chunk(0, b"")).contains("can't be right"));
    assert!(said(&chunk(60, b"\x40aaaa")).contains("break off"));
    let frame = [&lz4_frame(b"", false)[..7], &[0xff, 0xff, 0xff, 0x7f, 0, 0]].concat();
    assert!(said(&frame).contains("longer than its frame allows"));
}

#[test]
fn a_large_zstd_window_is_refused() {
    // The header claims a frame and a window of 2 GiB.
    let header = b"\x28\xb5\x2f\xfd\x00\xa8\x05\0\0aaaaaaaaaaaaaaaa";
    assert!(read(header).1.unwrap().to_string().contains("too much memory"));
}

/// A reader that fails after its bytes have been read.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer) {
            Ok(0) => Err(std::io::Error::other("a broken disk")),
            result => result,
        }
    }
}

#[test]
fn system_errors_are_not_reported_as_damage() {
    let data = text(9000);
    for (compression, packed) in formats(&data) {
        let mut plain = Plain::new(Failing(&packed[..packed.len() * 3 / 4])).unwrap();
        let mut read = Vec::new();
        let error = plain.read_to_end(&mut read).unwrap_err();
        assert!(error.to_string().contains("a broken disk"), "{compression:?}: {error}");
        assert!(plain.damage().is_none() && data.starts_with(&read) && read.len() > data.len() / 2, "{compression:?}");
    }
}

#[test]
fn empty_streams_give_no_data_and_no_damage() {
    for packed in [gzip(b""), zstandard(b""), lz4_blocks(b"", 5), snappy_chunks(b"", 9), lz4_frame(b"", true)] {
        assert_eq!(read(&packed), (Vec::new(), None));
    }
}
