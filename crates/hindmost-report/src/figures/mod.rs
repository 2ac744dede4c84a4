//! Draws pictures as SVG. A picture loads nothing, and the same input gives the same bytes.
//!
//! Each picture is a [`Drawing`], which becomes a file or a part of a page. All pictures have a width that suits
//! phones, so that wider screens show two of them next to each other; charts of attempts also exist in the width of a
//! page. Text does not overlap, because its width is estimated with a wide font, and because headings, legends and
//! labels have their own space. Curves and bars differ in colour and also in shape, dashes or hatching.

mod forest;
pub mod gantt;
mod heat;
mod legend;
mod lines;
mod measure;
mod rows;
mod scale;
mod simplify;
mod slots;
mod strip;
mod svg;
#[cfg(test)]
mod tests;

pub use forest::{ForestChart, ForestPanel, ForestRow, ForestValue};
pub use heat::{HeatCell, HeatChart, HeatGroup, HeatRow};
pub use lines::{Kind, LineChart, Point, Series, Stated};
pub use rows::{Bar, BarChart, Dot, DotChart};
pub(crate) use scale::raised;
pub use scale::{Axis, Unit};
pub use slots::{SlotChart, SlotLayer, SlotLook, SlotRow, SlotSpan};
pub use strip::{Strip, StripDot};
pub use svg::Drawing;
pub(crate) use svg::{STYLE, escaped as markup};
#[cfg(test)]
pub(crate) use tests::HOSTILE;

/// Width of pictures that suit phones.
const NARROW: f64 = 440.0;
/// Width of charts of attempts for wider screens and paper.
const WIDE: f64 = 880.0;
/// Smallest width to which a name is shortened.
const POINT: f64 = 8.0;
