//! The parts of a value that replacement strings name: `{.}`, `{/}`, `{//}`, `{/.}`.

/// The part of a value that replaces a replacement string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `{}`: the whole value.
    Whole,
    /// `{.}`: without the extension.
    NoExtension,
    /// `{/}`: without the folder.
    Base,
    /// `{//}`: the folder.
    Folder,
    /// `{/.}`: without the folder and the extension.
    BaseNoExtension,
}

/// The forms, longest text first, so that `//` is not taken for `/`.
pub(super) const FORMS: [(&str, Form); 5] = [
    ("//", Form::Folder),
    ("/.", Form::BaseNoExtension),
    ("/", Form::Base),
    (".", Form::NoExtension),
    ("", Form::Whole),
];

impl Form {
    /// Returns this part of a value.
    pub(super) fn of(self, value: &[u8]) -> Vec<u8> {
        match self {
            Form::Whole => value.to_vec(),
            Form::NoExtension => without_extension(value).to_vec(),
            Form::Base => base(value).to_vec(),
            Form::BaseNoExtension => without_extension(base(value)).to_vec(),
            Form::Folder => folder(value).to_vec(),
        }
    }
}

fn base(value: &[u8]) -> &[u8] {
    &value[value.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)..]
}

/// Returns a value without the last dot and what follows it. A dot before a slash begins no extension.
fn without_extension(value: &[u8]) -> &[u8] {
    match value.iter().rposition(|byte| matches!(byte, b'.' | b'/')) {
        Some(at) if value[at] == b'.' => &value[..at],
        _ => value,
    }
}

/// Returns the folder of a path, as `dirname` prints it.
fn folder(value: &[u8]) -> &[u8] {
    let trimmed = |path: &[u8]| path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let path = &value[..trimmed(value)];
    if path.is_empty() {
        return if value.is_empty() { b"." } else { b"/" };
    }
    match path.iter().rposition(|byte| *byte == b'/') {
        None => b".",
        Some(slash) => match trimmed(&path[..slash]) {
            0 => b"/",
            end => &path[..end],
        },
    }
}
