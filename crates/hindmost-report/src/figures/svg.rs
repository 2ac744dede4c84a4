//! Writes SVG: elements, escaped text, short numbers, and the styles of all pictures.

use std::fmt::Write as _;

use crate::text;

/// Placeholder for the prefix of ids in a picture's body. No text contains it, because control characters are escaped.
pub(super) const ID: char = '\u{1}';

/// The styles of all pictures. They use no variables, so that viewers without variables and media queries show the
/// light picture.
pub(crate) const STYLE: &str = include_str!("style.css");

/// Prefix of the ids of a picture in a file of its own.
const ALONE: &str = "hindmost";

/// Most letters of titles, descriptions and tooltips.
const LONGEST: usize = 500;

/// Margin around a picture in a file of its own.
const MARGIN: f64 = 12.0;

/// A picture, which can be a file of its own or part of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    title: String,
    about: String,
    width: f64,
    height: f64,
    body: String,
}

impl Drawing {
    /// Creates a picture. The title and the description `about` are for readers who cannot see it.
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

    /// Returns the picture as a file of its own.
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

    /// Returns the picture as part of a page that has the styles of pictures; `id` must be unique in the page.
    pub fn inline(&self, id: &str) -> String {
        self.opened(id, "", 0.0) + &self.body.replace(ID, id) + "</svg>"
    }

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

/// The part of a text that is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    /// Adds a straight line.
    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
        let _ = writeln!(self.0, "<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\"/>");
    }

    /// Adds a path.
    pub(super) fn path(&mut self, class: &str, d: &str) {
        let _ = writeln!(self.0, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    /// Adds a rectangle; nothing without width or height.
    pub(super) fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        if width <= 0.0 || height <= 0.0 {
            return;
        }
        let [x, y, width, height] = [x, y, width.max(0.4), height.max(0.4)].map(number);
        let _ = writeln!(self.0, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>");
    }

    /// Adds one line of text, escaped; nothing if it is empty.
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

    /// Adds elements with a tooltip.
    pub(super) fn explained(&mut self, tip: &str, inside: impl FnOnce(&mut Canvas)) {
        let _ = writeln!(self.0, "<g><title>{}</title>", caption(tip));
        inside(self);
        self.0.push_str("</g>\n");
    }

    /// Adds elements clipped to a rectangle; `name` must be unique in the picture.
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

/// Formats a coordinate with one decimal digit at most.
pub(super) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{:.1}", value.clamp(-1e6, 1e6));
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Escapes text for XML, including control characters, which XML cannot represent.
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
    fn numbers_are_short() {
        let shown = [0.0, -0.04, 12.0, 12.34, 1e9, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(shown, ["0", "0", "12", "12.3", "1000000", "0", "0"]);
    }

    #[test]
    fn text_never_becomes_markup() {
        let text = "</text><script>\"'&\u{1}\u{202e}\u{ffff}";
        let expected = "&lt;/text&gt;&lt;script&gt;&quot;&#39;&amp;\\u{1}\\u{202e}\\u{ffff}";
        assert_eq!(escaped(text), expected);
    }
}
