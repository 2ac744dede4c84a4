//! Formats arbitrary names and texts for a terminal, and checks that no line is too wide and that none has control
//! characters.

use crate::check_width;
use arbitrary::Arbitrary;
use hindmost_report::text::{beginning, columns, duration, escaped, indented, name, names, padded, wrapped};

/// The input, built from bytes.
#[derive(Arbitrary, Debug)]
pub struct Input {
    width: u8,
    indent: u8,
    seconds: f64,
    ascii: bool,
    names: Vec<Vec<u8>>,
}

/// Checks one input.
///
/// # Panics
/// If a check fails.
#[allow(clippy::needless_pass_by_value, reason = "libFuzzer passes a value")]
pub fn check(input: Input) {
    let texts: Vec<String> = input.names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let width = usize::from(input.width);
    let ellipsis = if input.ascii { "..." } else { "…" };
    for text in &texts {
        let safe = escaped(text);
        assert!(!safe.contains(char::is_control), "{safe:?}");
        assert_eq!(escaped(&safe), safe);
        check_width(&name(text, width, ellipsis), width);
        let shown = name(text, width, ellipsis);
        assert!(columns(&safe) > width || shown == safe, "a name that fits is not cut");
        if width >= ellipsis.len() {
            check_width(&beginning(text, width, ellipsis), width);
        }
        let filled = padded(&shown, width);
        assert!(columns(&filled) >= width, "{} columns instead of {width}: {filled:?}", columns(&filled));
        assert!(filled.starts_with(&shown));
        // A character can be two columns wide and is shown even if the line is narrower, so lines with space for one
        // column are not checked.
        let indent = usize::from(input.indent).min(width.saturating_sub(2));
        if width >= 2 {
            let lines = wrapped(&safe, width, indent);
            check_width(&lines, width);
            let letters = |text: &str| text.chars().filter(|letter| !" \n".contains(*letter)).collect::<String>();
            assert_eq!(letters(&lines), letters(&safe), "no letter is lost");
            check_width(&indented(&" ".repeat(indent), &safe, width), width);
        }
    }
    let shown = names(&texts, width, ellipsis);
    assert_eq!(shown.len(), texts.len());
    for shown in &shown {
        check_width(shown, width);
    }
    check_width(&duration(input.seconds), usize::MAX);
}
