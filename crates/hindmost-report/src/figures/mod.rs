//! Pictures as SVG, drawn by hand: few shapes, nothing loaded, the same bytes for the same input.
//!
//! Each picture is a [`Drawing`], which stands alone as a file or in a page. All but wide charts of attempts have
//! one width, so small that it can be read on a phone; two stand beside each other on a wider screen. Text is
//! measured beforehand by a wide font, and legends, headings and labels have room of their own, so that nothing
//! lies on anything else. What colour tells is told by shape, dashes or hatching, too.

pub mod gantt;
mod legend;
mod lines;
mod measure;
mod rows;
mod scale;
mod simplify;
mod strip;
mod svg;
#[cfg(test)]
mod tests;

pub use lines::{Kind, LineChart, Point, Series};
pub use rows::{Bar, BarChart, Dot, DotChart};
pub use scale::{Axis, Unit};
pub use strip::{Strip, StripDot};
pub use svg::Drawing;
pub(crate) use svg::STYLE;
#[cfg(test)]
pub(crate) use tests::HOSTILE;

/// Width of pictures that can be read on a phone.
const NARROW: f64 = 440.0;
/// Width of charts of attempts for wider screens and paper.
const WIDE: f64 = 880.0;
/// The least room of a name.
const POINT: f64 = 8.0;
