//! Pictures as SVG: few shapes, nothing loaded, the same bytes for the same input.
//!
//! Each picture is a [`Drawing`], which is a file or part of a page. All pictures except wide charts of attempts have
//! one width that suits phones; wider screens show two next to each other. The width of text is estimated with a wide
//! font, and legends, headings and labels have their own space, so that nothing overlaps. Whatever a colour shows is
//! also shown by shape, dashes or hatching.

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
pub(crate) use scale::raised;
pub use scale::{Axis, Unit};
pub use strip::{Strip, StripDot};
pub use svg::Drawing;
pub(crate) use svg::STYLE;
#[cfg(test)]
pub(crate) use tests::HOSTILE;

/// Width of pictures that suit phones.
const NARROW: f64 = 440.0;
/// Width of charts of attempts for wider screens and paper.
const WIDE: f64 = 880.0;
/// Smallest width of a name.
const POINT: f64 = 8.0;
