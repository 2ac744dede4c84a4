//! Compresses as Spark's `lzf` codec does.

use std::collections::HashMap;

/// Returns data as chunks of up to `size` bytes (at most 65 535). If `stored`, no chunk is compressed; otherwise those
/// that become shorter are.
pub fn chunks(data: &[u8], size: usize, stored: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let length = |data: &[u8]| (data.len() as u16).to_be_bytes();
    for chunk in data.chunks(size) {
        let packed = compress(chunk);
        if stored || packed.len() >= chunk.len() {
            out.extend([b"ZV\0", &length(chunk)[..], chunk].concat());
        } else {
            out.extend([b"ZV\x01", &length(&packed)[..], &length(chunk)[..], &packed].concat());
        }
    }
    out
}

/// Compresses a chunk: three or more bytes that occurred in the 8 KiB before become a back reference.
fn compress(chunk: &[u8]) -> Vec<u8> {
    let (mut out, mut literal, mut at) = (Vec::new(), 0, 0);
    let mut last = HashMap::new();
    let literals = |out: &mut Vec<u8>, bytes: &[u8]| {
        for run in bytes.chunks(32) {
            out.push(run.len() as u8 - 1);
            out.extend_from_slice(run);
        }
    };
    while let Some(three) = chunk.get(at..at + 3) {
        let Some(from) = last.insert(three, at).filter(|from| at - from <= 1 << 13) else {
            at += 1;
            continue;
        };
        let same = chunk[at..].iter().zip(&chunk[from..]).take(264).take_while(|(a, b)| a == b).count();
        let (length, distance) = (same - 2, at - from - 1);
        literals(&mut out, &chunk[literal..at]);
        out.push((length.min(7) << 5 | distance >> 8) as u8);
        out.extend(length.checked_sub(7).map(|more| more as u8));
        out.push(distance as u8);
        at += same;
        literal = at;
    }
    literals(&mut out, &chunk[literal..]);
    out
}
