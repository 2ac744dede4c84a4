//! The tables of figures.

use hindmost_claims::{Cell, DataTable, Plot, PlotShape};
use hindmost_math::statistics::{mean, student_interval};

use crate::data::{ColumnSpec, FigureSpec, PaperError, ReadingSpec, SweepSpec, TableKind, TableSpec, WorldSpec};
use crate::evaluate::{Evaluator, compared, compared_unit, is_cut};
use crate::formulas;
use crate::metric::{Metric, Quantity};
use crate::points::Curve;
use crate::runs::{Place, RunId};

/// A row of a table: a policy under a reading.
struct Row<'p> {
    name: String,
    label: &'p str,
    reading: &'p ReadingSpec,
    /// The run, and whether only jobs count that had finished when arrivals stopped.
    run: (RunId, bool),
}

impl<'p> Evaluator<'p, '_> {
    /// Fills a table.
    ///
    /// # Errors
    /// If a run or a formula is not valid.
    pub fn table(&mut self, figure: &FigureSpec, spec: &'p TableSpec) -> Result<DataTable, PaperError> {
        match spec.kind {
            TableKind::Means => self.means(spec),
            TableKind::Shares => self.shares(figure, spec),
            TableKind::Sweep => self.sweep(spec),
            TableKind::Readings => self.by_reading(spec),
            TableKind::Formula => {
                let made = formulas::table(&spec.formula).map_err(|message| self.failed(spec, message))?;
                if self.runs.is_planning() {
                    return Ok(DataTable::new(spec.caption.as_str(), Vec::new(), Vec::new()));
                }
                made().map_err(|message| PaperError::Formula { name: spec.formula.clone(), message })
            }
        }
    }

    fn failed(&self, spec: &TableSpec, message: String) -> PaperError {
        let file = format!("paper {}, table {:?}", self.paper.key, spec.caption);
        PaperError::Data { file, message }
    }

    fn world(&self, spec: &TableSpec) -> Result<&'p WorldSpec, PaperError> {
        self.paper.world(&spec.world).ok_or_else(|| self.failed(spec, format!("there is no world {:?}", spec.world)))
    }

    /// Returns the readings of a table: the base reading, the listed ones, or all.
    fn readings_of(&self, names: &[String]) -> Vec<&'p ReadingSpec> {
        let all = names.iter().any(|name| name == "all");
        let chosen = |at: usize, reading: &&'p ReadingSpec| {
            all || (at == 0 && names.is_empty()) || names.contains(&reading.name)
        };
        self.readings
            .iter()
            .enumerate()
            .filter(|(at, reading)| chosen(*at, reading))
            .map(|(_, reading)| *reading)
            .collect()
    }

    fn name(&self, label: &str) -> String {
        self.paper.policy(label).map_or_else(|| label.to_owned(), |policy| policy.name.clone())
    }

    /// Returns the rows of a table: each policy under each reading that changes its runs.
    fn rows_of(&mut self, spec: &'p TableSpec) -> Result<Vec<Row<'p>>, PaperError> {
        let world = self.world(spec)?;
        let readings = self.readings_of(&spec.readings);
        let mut rows: Vec<Row<'p>> = Vec::new();
        for label in &spec.policies {
            let from = rows.len();
            for reading in &readings {
                let run = (self.run_of(world, label, reading, None)?, spec.cut || is_cut(self.paper, reading));
                if !rows[from..].iter().any(|known| known.run == run) {
                    let name = if readings.len() == 1 {
                        self.name(label)
                    } else {
                        format!("{}, {}", self.name(label), reading.name)
                    };
                    rows.push(Row { name, label, reading, run });
                }
            }
        }
        Ok(rows)
    }

    fn means(&mut self, spec: &'p TableSpec) -> Result<DataTable, PaperError> {
        let world = self.world(spec)?;
        let metrics: Vec<Metric> = spec
            .metrics
            .iter()
            .map(|text| text.parse())
            .collect::<Result<_, _>>()
            .map_err(|it| self.failed(spec, it))?;
        let mut columns = vec!["policy".to_owned()];
        for metric in &metrics {
            let unit = metric.unit(&world.unit);
            columns.push(if unit.is_empty() || metric.words() == unit {
                metric.words()
            } else {
                format!("{} ({unit})", metric.words())
            });
            columns.push(format!("± {}", metric.words()));
        }
        let mut table = DataTable::new(spec.caption.as_str(), columns, Vec::new());
        for Row { name, run: (id, cut), reading, .. } in self.rows_of(spec)? {
            let mut row = vec![Cell::Text(name)];
            for metric in &metrics {
                let metric = self.metric(*metric, reading);
                row.extend(with_half(&self.runs.values(id, metric, cut)));
            }
            table.rows.push(row);
        }
        Ok(table)
    }

    fn shares(&mut self, figure: &FigureSpec, spec: &'p TableSpec) -> Result<DataTable, PaperError> {
        let world = self.world(spec)?;
        let quantity: Quantity = spec.quantity.parse().map_err(|it| self.failed(spec, it))?;
        let mut columns = vec![format!("policy; {} up to", quantity.words())];
        columns.extend(spec.grid.iter().map(f64::to_string));
        let mut table = DataTable::new(spec.caption.as_str(), columns, Vec::new());
        let mut stated = Vec::new();
        for Row { name, label, reading, run: (id, cut) } in self.rows_of(spec)? {
            let mut shares = self.runs.shares(id, quantity, &spec.grid, cut);
            shares.resize(spec.grid.len(), f64::NAN);
            let curve = Curve { name: &name, run: (id, cut), world, policy: label, reading };
            stated.extend(self.points_of(figure, curve, quantity));
            let mut row = vec![Cell::Text(name)];
            row.extend(shares.into_iter().map(Cell::from));
            table.rows.push(row);
        }
        table.plot = spec.plot.as_ref().map(|plot| Plot {
            title: plot.title.clone(),
            x: format!("{} ({})", quantity.words(), quantity.unit(&world.unit)),
            y: plot.y.clone().unwrap_or_else(|| "share of jobs".to_owned()),
            shape: PlotShape::CumulativeRows,
            curves: plot.curves.iter().map(|label| self.name(label)).collect(),
            rows: None,
            stated,
        });
        Ok(table)
    }

    fn heading(&self, column: &ColumnSpec, metric: Metric, time: &str) -> String {
        if let Some(heading) = &column.heading {
            return heading.clone();
        }
        let unit = match &column.against {
            Some(_) => compared_unit(column.measure, metric, time),
            None => metric.unit(time),
        };
        let unit = if unit.is_empty() { unit } else { format!(" ({unit})") };
        match &column.against {
            Some(other) => format!("{}, {} / {}{unit}", metric.words(), self.name(&column.policy), self.name(other)),
            None => format!("{}, {}{unit}", metric.words(), self.name(&column.policy)),
        }
    }

    /// Returns the value of a column on each seed, at a place of a sweep or in a world.
    fn column(
        &mut self,
        world: &'p WorldSpec,
        column: &'p ColumnSpec,
        metric: Metric,
        reading: &'p ReadingSpec,
        place: Option<Place<'p>>,
    ) -> Result<Vec<f64>, PaperError> {
        let cut = is_cut(self.paper, reading);
        let metric = self.metric(metric, reading);
        let one = self.run_of(world, &column.policy, reading, place)?;
        let Some(against) = &column.against else { return Ok(self.runs.values(one, metric, cut)) };
        let other = self.run_of(world, against, reading, place)?;
        if metric.needs_two() {
            return Ok(self.runs.pair_values(one, other, metric, cut));
        }
        if let (true, Metric::Mean(quantity, up_to)) = (cut, metric) {
            let means = self.runs.common_means((one, other), quantity, up_to);
            return Ok(means.into_iter().map(|(one, other)| compared(column.measure, one, other)).collect());
        }
        let (one, other) = (self.runs.values(one, metric, cut), self.runs.values(other, metric, cut));
        Ok(one.iter().zip(&other).map(|(one, other)| compared(column.measure, *one, *other)).collect())
    }

    fn sweep(&mut self, spec: &'p TableSpec) -> Result<DataTable, PaperError> {
        let missing = || format!("there is no sweep {:?}", spec.sweep);
        let sweep: &'p SweepSpec = self.paper.sweep(&spec.sweep).ok_or_else(|| self.failed(spec, missing()))?;
        let world = self.paper.world(&sweep.world).ok_or_else(|| self.failed(spec, missing()))?;
        let listed = if spec.readings.is_empty() { self.readings.clone() } else { self.readings_of(&spec.readings) };
        let readings: Vec<&ReadingSpec> = listed.into_iter().filter(|reading| self.is_swept(sweep, reading)).collect();
        let unit = if sweep.unit.is_empty() { String::new() } else { format!(" ({})", sweep.unit) };
        let mut columns = vec![format!("{}{unit}", sweep.variable)];
        let mut parsed = Vec::new();
        for column in &spec.columns {
            let metric: Metric = column.metric.parse().map_err(|it| self.failed(spec, it))?;
            for reading in &readings {
                let heading = self.heading(column, metric, &world.unit);
                let heading = if readings.len() > 1 { format!("{heading}, {}", reading.name) } else { heading };
                columns.push(heading.clone());
                columns.push(format!("± {heading}"));
                parsed.push((column, metric, *reading));
            }
        }
        let mut table = DataTable::new(spec.caption.as_str(), columns, Vec::new());
        for value in self.values_of(sweep) {
            let mut row = vec![match value {
                toml::Value::Float(number) => Cell::from(*number),
                toml::Value::Integer(number) => Cell::from(*number as f64),
                toml::Value::String(text) => Cell::from(text.as_str()),
                other => Cell::Text(other.to_string()),
            }];
            for (column, metric, reading) in &parsed {
                let values = self.column(world, column, *metric, reading, Some(Place { sweep, value }))?;
                row.extend(with_half(&values));
            }
            table.rows.push(row);
        }
        table.plot = spec.plot.as_ref().map(|plot| Plot {
            title: plot.title.clone(),
            x: table.columns[0].clone(),
            y: plot.y.clone().unwrap_or_default(),
            shape: PlotShape::Columns,
            curves: plot.curves.clone(),
            rows: None,
            stated: Vec::new(),
        });
        Ok(table)
    }

    fn by_reading(&mut self, spec: &'p TableSpec) -> Result<DataTable, PaperError> {
        let world = self.world(spec)?;
        let mut columns = vec!["reading".to_owned()];
        let mut metrics: Vec<Metric> = Vec::new();
        for column in &spec.columns {
            let metric: Metric = column.metric.parse().map_err(|it| self.failed(spec, it))?;
            let heading = self.heading(column, metric, &world.unit);
            columns.extend([heading.clone(), format!("± {heading}")]);
            metrics.push(metric);
        }
        let mut table = DataTable::new(spec.caption.as_str(), columns, Vec::new());
        let everything = ["all".to_owned()];
        let names = if spec.readings.is_empty() { &everything[..] } else { &spec.readings };
        for reading in self.readings_of(names) {
            let mut row = vec![Cell::from(reading.name.as_str())];
            for (column, metric) in spec.columns.iter().zip(&metrics) {
                row.extend(with_half(&self.column(world, column, *metric, reading, None)?));
            }
            table.rows.push(row);
        }
        Ok(table)
    }
}

/// Returns two cells: the mean of the values and half of its 95% interval.
fn with_half(values: &[f64]) -> [Cell; 2] {
    let half = student_interval(values).map(|[low, high]| (high - low) / 2.0);
    [Cell::from(mean(values)), Cell::from(half)]
}
