//! The 32-bit hash that LZ4's formats check their data with (xxHash, XXH32).

const PRIMES: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];

/// Takes data in piece by piece.
#[derive(Clone, Debug)]
pub(super) struct XxHash32 {
    seed: u32,
    lanes: [u32; 4],
    /// What doesn't fill 16 bytes yet.
    rest: [u8; 16],
    held: usize,
    length: u64,
}

/// The hash of `data`.
pub(super) fn xxhash32(data: &[u8], seed: u32) -> u32 {
    let mut hash = XxHash32::new(seed);
    hash.update(data);
    hash.finish()
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

impl XxHash32 {
    pub(super) fn new(seed: u32) -> Self {
        let lanes = [
            seed.wrapping_add(PRIMES[0]).wrapping_add(PRIMES[1]),
            seed.wrapping_add(PRIMES[1]),
            seed,
            seed.wrapping_sub(PRIMES[0]),
        ];
        XxHash32 { seed, lanes, rest: [0; 16], held: 0, length: 0 }
    }

    pub(super) fn update(&mut self, mut data: &[u8]) {
        self.length += data.len() as u64;
        if self.held > 0 {
            let count = data.len().min(16 - self.held);
            self.rest[self.held..self.held + count].copy_from_slice(&data[..count]);
            self.held += count;
            data = &data[count..];
            if self.held < 16 {
                return;
            }
            let rest = self.rest;
            self.stripe(&rest);
            self.held = 0;
        }
        let (stripes, rest) = data.as_chunks::<16>();
        for stripe in stripes {
            self.stripe(stripe);
        }
        self.rest[..rest.len()].copy_from_slice(rest);
        self.held = rest.len();
    }

    fn stripe(&mut self, stripe: &[u8; 16]) {
        let (words, _) = stripe.as_chunks::<4>();
        for (lane, word) in self.lanes.iter_mut().zip(words) {
            let mixed = lane.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(PRIMES[1]));
            *lane = mixed.rotate_left(13).wrapping_mul(PRIMES[0]);
        }
    }

    pub(super) fn finish(&self) -> u32 {
        let [a, b, c, d] = self.lanes;
        let mut hash = if self.length >= 16 {
            let turned = [a.rotate_left(1), b.rotate_left(7), c.rotate_left(12), d.rotate_left(18)];
            turned.into_iter().fold(0, u32::wrapping_add)
        } else {
            self.seed.wrapping_add(PRIMES[4])
        };
        hash = hash.wrapping_add(self.length as u32);
        let rest = &self.rest[..self.held];
        let words = rest.chunks_exact(4);
        let bytes = words.remainder();
        for four in words {
            hash = hash.wrapping_add(word(four).wrapping_mul(PRIMES[2]));
            hash = hash.rotate_left(17).wrapping_mul(PRIMES[3]);
        }
        for &byte in bytes {
            hash = hash.wrapping_add(u32::from(byte).wrapping_mul(PRIMES[4]));
            hash = hash.rotate_left(11).wrapping_mul(PRIMES[0]);
        }
        hash = (hash ^ (hash >> 15)).wrapping_mul(PRIMES[1]);
        hash = (hash ^ (hash >> 13)).wrapping_mul(PRIMES[2]);
        hash ^ (hash >> 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hashes_come_out() {
        assert_eq!(xxhash32(b"", 0), 0x02cc_5d05);
        assert_eq!(xxhash32(b"a", 0), 0x550d_7456);
        assert_eq!(xxhash32(b"abc", 0), 0x32d1_53ff);
        assert_eq!(xxhash32(b"Nobody inspects the spammish repetition", 0), 0xe229_3b2f);
    }

    #[test]
    fn pieces_do_not_matter() {
        let data: Vec<u8> = (0..200_u8).collect();
        let whole = xxhash32(&data, 7);
        for size in [1, 3, 15, 16, 17, 64] {
            let mut hash = XxHash32::new(7);
            data.chunks(size).for_each(|piece| hash.update(piece));
            assert_eq!(hash.finish(), whole, "{size}");
        }
    }
}
