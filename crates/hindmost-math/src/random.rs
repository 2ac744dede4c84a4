//! Random numbers that depend on what they are for, not on when they are drawn: hashes of a seed, a stream and an id.

/// Mixes all bits of a number (the finaliser of SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns a hash of a seed, a stream number and two numbers that identify the draw within its stream. Draws of
/// different streams are independent.
#[inline]
pub fn hash(seed: u64, stream: u64, first: u64, second: u64) -> u64 {
    mix(mix(mix(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95)) ^ first) ^ second)
}

/// Converts a hash into a number strictly between 0 and 1, in steps of 2^-53.
#[inline]
pub fn unit(hash: u64) -> f64 {
    ((hash >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
}
