//! Writes SVG: elements with escaped text and short numbers, and the style sheet of all pictures.

use std::fmt::Write as _;

use crate::text;

/// Placeholder for the prefix of ids in a picture's body. Texts cannot contain this character, because control
/// characters are escaped.
pub(super) const ID: char = '\u{1}';

/// The style sheet of all pictures. It has no variables, so that viewers that know neither variables nor media queries
/// show the light picture.
pub(crate) const STYLE: &str = include_str!("style.css");

/// Prefix of ids in a picture that has its own file.
const ALONE: &str = "hindmost";

/// Largest number of letters of a title, description or tooltip.
const LONGEST: usize = 500;

/// Margin around a picture that has its own file.
const MARGIN: f64 = 12.0;

/// A finished picture. It can be written as a file or inserted into a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    title: String,
    about: String,
    width: f64,
    height: f64,
    body: String,
}

impl Drawing {
    /// Creates a picture from its elements. `title` and the description `about` are for readers who cannot see it.
    pub(super) fn new(title: &str, about: &str, width: f64, canvas: Canvas, height: f64) -> Drawing {
        Drawing { title: title.to_owned(), about: about.to_owned(), width, height, body: canvas.0 }
    }

    /// Returns the title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the width divided by the height.
    pub fn shape(&self) -> f64 {
        self.width / self.height
    }

    /// Returns the content of a file with the picture and the style sheet.
    pub fn standalone(&self) -> String {
        let mut text = self.opened(ALONE, " xmlns=\"http://www.w3.org/2000/svg\"", MARGIN);
        let [begin, width, height] = [-MARGIN, self.width + 2.0 * MARGIN, self.height + 2.0 * MARGIN].map(number);
        let _ = write!(
            text,
            "<style>\n{STYLE}</style>\n\
             <rect class=\"hm-bg\" x=\"{begin}\" y=\"{begin}\" width=\"{width}\" height=\"{height}\"/>\n"
        );
        text += &self.body.replace(ID, ALONE);
        text + "</svg>\n"
    }

    /// Returns the picture as an element for a page. The page must have the style sheet, and `id` must be unique in the
    /// page.
    pub fn inline(&self, id: &str) -> String {
        self.opened(id, "", 0.0) + &self.body.replace(ID, id) + "</svg>"
    }

    /// Returns the begin of the SVG element with `more` attributes, and its title and description.
    fn opened(&self, id: &str, more: &str, margin: f64) -> String {
        let [begin, width, height] = [-margin, self.width + 2.0 * margin, self.height + 2.0 * margin].map(number);
        let mut text = format!(
            "<svg{more} class=\"hm\" viewBox=\"{begin} {begin} {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" aria-labelledby=\"{id}-title {id}-about\">\n"
        );
        let _ = writeln!(text, "<title id=\"{id}-title\">{}</title>", caption(&self.title));
        let _ = writeln!(text, "<desc id=\"{id}-about\">{}</desc>", caption(&self.about));
        text
    }
}

/// The elements of a picture.
#[derive(Clone, Debug, Default)]
pub(super) struct Canvas(String);

/// Which part of a text is at the position given for the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The position is the text's left end.
    Start,
    /// The position is the text's middle.
    Middle,
    /// The position is the text's right end.
    End,
}

impl Canvas {
    /// Adds a straight line.
    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
        let _ = writeln!(self.0, "<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\"/>");
    }

    /// Adds a path with the commands `d`.
    pub(super) fn path(&mut self, class: &str, d: &str) {
        let _ = writeln!(self.0, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    /// Adds a pattern of square tiles with the path `d`. `name` must be unique in the picture.
    pub(super) fn pattern(&mut self, name: &str, side: f64, class: &str, d: &str) {
        let side = number(side);
        let _ = writeln!(
            self.0,
            "<pattern id=\"{ID}-{name}\" width=\"{side}\" height=\"{side}\" patternUnits=\"userSpaceOnUse\">\
             <path class=\"{class}\" d=\"{d}\"/></pattern>"
        );
    }

    /// Adds a path that is filled with a pattern of this picture.
    pub(super) fn patterned(&mut self, pattern: &str, d: &str) {
        let _ = writeln!(self.0, "<path fill=\"url(#{ID}-{pattern})\" d=\"{d}\"/>");
    }

    /// Adds a rectangle, unless its width or height is 0 or negative.
    pub(super) fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        if width <= 0.0 || height <= 0.0 {
            return;
        }
        let [x, y, width, height] = [x, y, width.max(0.4), height.max(0.4)].map(number);
        let _ = writeln!(self.0, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>");
    }

    /// Adds one line of text and escapes it, unless the text is empty.
    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        if text.is_empty() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let [x, y] = [x, y].map(number);
        let _ = writeln!(self.0, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{}</text>", escaped(text));
    }

    /// Adds the elements that `inside` draws, with a tooltip.
    pub(super) fn explained(&mut self, tip: &str, inside: impl FnOnce(&mut Canvas)) {
        let _ = writeln!(self.0, "<g><title>{}</title>", caption(tip));
        inside(self);
        self.0.push_str("</g>\n");
    }

    /// Adds the elements that `inside` draws, clipped to a rectangle. `name` must be unique in the picture.
    pub(super) fn clipped(&mut self, name: &str, area: [f64; 4], inside: impl FnOnce(&mut Canvas)) {
        let [x, y, width, height] = area.map(number);
        let _ = writeln!(
            self.0,
            "<clipPath id=\"{ID}-{name}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/></clipPath>\n\
             <g clip-path=\"url(#{ID}-{name})\">"
        );
        inside(self);
        self.0.push_str("</g>\n");
    }
}

/// Escapes and shortens a title, description or tooltip.
fn caption(text: &str) -> String {
    escaped(&text::beginning(text, LONGEST, "…"))
}

/// Formats a coordinate with at most one decimal.
pub(super) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{:.1}", value.clamp(-1e6, 1e6));
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Escapes text for XML. Control characters, which XML cannot represent, become visible escape sequences.
pub(crate) fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for letter in text::escaped(text).chars() {
        match letter {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\'' => written.push_str("&#39;"),
            _ => written.push(letter),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_have_at_most_one_decimal() {
        let shown = [0.0, -0.04, 12.0, 12.34, 1e9, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(shown, ["0", "0", "12", "12.3", "1000000", "0", "0"]);
    }

    #[test]
    fn markup_in_text_is_escaped() {
        let text = "</text><script>\"'&\u{1}\u{202e}\u{ffff}";
        let expected = "&lt;/text&gt;&lt;script&gt;&quot;&#39;&amp;\\u{1}\\u{202e}\\u{ffff}";
        assert_eq!(escaped(text), expected);
    }
}
