//! Digests by which a run recognises its job.

use std::path::Path;

/// FNV-1a (64 bits) over parts that each begin with their length, so that different lists of parts are different inputs.
pub(super) struct Digest(u64);

impl Digest {
    pub(super) fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub(super) fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    pub(super) fn path(&mut self, path: &Path) {
        let bytes = path.as_os_str().as_encoded_bytes();
        self.number(bytes.len() as u64);
        self.bytes(bytes);
    }

    pub(super) fn in_hex(&self) -> String {
        format!("{:016x}", self.0)
    }
}
