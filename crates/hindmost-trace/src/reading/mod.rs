//! Tools that the readers of all formats share.
//!
//! | file | what it does |
//! | --- | --- |
//! | `compression/` | decompresses a file, and finds the byte at which it is damaged |
//! | `progress.rs` | reports how much of the files has been read |
//! | `window.rs` | holds a part of the log in one buffer |
//! | `relined.rs` | rewrites indented JSON and arrays as one object a line |
//! | `lines.rs` | splits a log into lines, and skips long lines that are not needed |
//! | `json.rs` | finds fields and keys without parsing the whole object; parses objects that are not quite JSON |
//! | `values.rs` | parses numbers, texts and flags leniently |
//! | `sniff.rs` | describes a file that is not a log |
//! | `causes.rs` | counts causes of failures |
//! | `warnings.rs` | counts problems and turns them into warnings |

pub(crate) mod causes;
pub(crate) mod compression;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod progress;
pub(crate) mod relined;
pub(crate) mod sniff;
pub(crate) mod values;
pub(crate) mod warnings;
pub(crate) mod window;

#[cfg(test)]
pub(crate) mod testing;
