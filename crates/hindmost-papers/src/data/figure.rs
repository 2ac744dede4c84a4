//! Figures and tables as they stand in a paper's files.

use serde::Deserialize;

use super::claim::Measure;

/// A figure: its description and its tables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Number or short name for the command line, such as `2`.
    pub id: String,
    /// Name, such as `Figure 2`.
    pub name: String,
    /// Sentences that say what the figure shows and how the experiment was repeated.
    pub about: String,
    /// The tables, from top to bottom.
    #[serde(default)]
    pub table: Vec<TableSpec>,
}

/// What the rows and columns of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableKind {
    /// A row for each policy and reading, a column for each metric.
    Means,
    /// A row for each policy and reading, a column for each value of `grid`: the share of jobs up to the value.
    Shares,
    /// A row for each value of a sweep, a column for each of `columns` and each reading.
    Sweep,
    /// A row for each reading, a column for each of `columns`.
    Readings,
    /// The table of a formula.
    Formula,
}

/// A table of numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// What the rows and columns are.
    pub kind: TableKind,
    /// Caption: what the numbers mean. A formula's table has its own.
    #[serde(default)]
    pub caption: String,
    /// The world of `means`, `shares` and `readings`.
    #[serde(default)]
    pub world: String,
    /// Labels of the policies.
    #[serde(default)]
    pub policies: Vec<String>,
    /// Names of the readings; `all` for all readings that change the policy. By default the base reading, in tables of
    /// kind `readings` all, and in tables of kind `sweep` those under which the sweep is run.
    #[serde(default)]
    pub readings: Vec<String>,
    /// Metrics of `means`, such as `mean(flowtime)`.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Quantity of `shares`: `flowtime`, `running_time` or `resource`.
    #[serde(default)]
    pub quantity: String,
    /// Values of `shares`.
    #[serde(default)]
    pub grid: Vec<f64>,
    /// Counts only jobs that had finished when arrivals stopped.
    #[serde(default)]
    pub cut: bool,
    /// Name of the sweep.
    #[serde(default)]
    pub sweep: String,
    /// Name of the formula.
    #[serde(default)]
    pub formula: String,
    /// Columns of `sweep` and `readings`.
    #[serde(default)]
    pub columns: Vec<ColumnSpec>,
    /// How the table is drawn; by default it is not.
    #[serde(default)]
    pub plot: Option<PlotSpec>,
}

/// A column: a metric of a policy, or the comparison of two policies.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// Heading; by default made from the metric and the policies.
    #[serde(default)]
    pub heading: Option<String>,
    /// The metric.
    pub metric: String,
    /// Label of the policy.
    pub policy: String,
    /// Label of the policy with which it is compared.
    #[serde(default)]
    pub against: Option<String>,
    /// How both values are compared; by default the change in per cent.
    #[serde(default)]
    pub measure: Option<Measure>,
}

/// How a table is drawn.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlotSpec {
    /// Title of the picture.
    pub title: String,
    /// Label of the vertical axis; for `shares` a default.
    #[serde(default)]
    pub y: Option<String>,
    /// Labels of the policies, or headings, to draw; by default all.
    #[serde(default)]
    pub curves: Vec<String>,
}
