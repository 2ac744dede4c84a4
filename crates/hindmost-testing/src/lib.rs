//! What tests of all crates share: how many random cases they try, from which seed, and how they say what they leave out.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `HINDMOST_CASES` | number of cases of each random test; `all`: the full set of the nightly tests; otherwise a sample |
//! | `HINDMOST_SEED` | seed of the first case (1) |
//! | `HINDMOST_DATA` | folder of real logs and traces; without it, the tests that read them are left out |
//!
//! Property tests take their number of cases from here, too, and their seed from `PROPTEST_RNG_SEED`.

pub mod expected;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A generator of random numbers (SplitMix64) with its state. The same seed gives the same numbers in every version.
#[derive(Clone, Debug)]
pub struct Draw(pub u64);

impl Draw {
    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in [0, `end`).
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// Returns one of the values.
    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }

    /// Returns true once in so many calls, on average.
    pub fn one_in(&mut self, calls: u64) -> bool {
        self.below(calls) == 0
    }

    /// Returns the values in random order.
    pub fn shuffled<T>(&mut self, mut values: Vec<T>) -> Vec<T> {
        for last in (1..values.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            values.swap(last, other);
        }
        values
    }
}

/// Returns how many random cases a test tries: `sample` in a usual run and `all` in the nightly one.
///
/// # Panics
/// If `HINDMOST_CASES` is neither a number nor `all`.
pub fn cases(sample: u32, all: u32) -> u32 {
    match std::env::var("HINDMOST_CASES") {
        Err(_) => sample,
        Ok(text) if text == "all" => all,
        Ok(text) => {
            text.parse().unwrap_or_else(|_| panic!("HINDMOST_CASES is {text:?}, but must be a number or `all`"))
        }
    }
}

/// Returns the cases of a list that a test tries: all of them in the nightly run, and one of `every` in a usual run. Which
/// ones depends on [`seed`].
pub fn sample<T>(every: usize, all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let all: Vec<T> = all.into_iter().collect();
    let every = if is_nightly() { 1 } else { every.min(all.len()).max(1) };
    all.into_iter().skip(seed() as usize % every).step_by(every)
}

/// Returns true if the nightly tests run, which try everything.
pub fn is_nightly() -> bool {
    std::env::var("HINDMOST_CASES").is_ok_and(|text| text == "all")
}

/// Returns the seed of the first random case.
///
/// # Panics
/// If `HINDMOST_SEED` is no number.
pub fn seed() -> u64 {
    let text = std::env::var("HINDMOST_SEED").unwrap_or_else(|_| "1".to_owned());
    text.parse().unwrap_or_else(|_| panic!("HINDMOST_SEED is {text:?}, but must be a number"))
}

/// Returns a path in the folder of real logs and traces; `None`, with a message, if `HINDMOST_DATA` names no folder.
pub fn data(path: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("HINDMOST_DATA") else {
        say_once("tests of real logs and traces: HINDMOST_DATA names no folder with them");
        return None;
    };
    // A relative path starts at the workspace's folder.
    Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join(path))
}

/// Says that the rest of the test is left out. `why` names the program or permission that is missing.
pub fn left_out(why: &str) {
    let thread = std::thread::current();
    say_once(&format!("{}: {why}", thread.name().unwrap_or("a test")));
}

/// Writes a line to the terminal, even if the test passes; each line once in a process.
fn say_once(what: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(what.to_owned()) {
        // The test harness captures what the print macros write, but not this.
        let _ = writeln!(std::io::stderr(), "left out: {what}");
    }
}

#[cfg(test)]
mod tests {
    use super::Draw;

    #[test]
    fn draws_are_those_of_splitmix64() {
        // The first values of the reference implementation for seed 1234567.
        let mut draw = Draw(1_234_567);
        assert_eq!([draw.number(), draw.number()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn shuffled_values_are_the_same_values() {
        let mut shuffled = Draw(1).shuffled((0..20).collect::<Vec<_>>());
        assert_ne!(shuffled, (0..20).collect::<Vec<_>>());
        shuffled.sort_unstable();
        assert_eq!(shuffled, (0..20).collect::<Vec<_>>());
    }
}
