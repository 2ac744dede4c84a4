//! Combines the values of several input sources into one list of values for each task.

use super::columns::trimmed;
use super::{ColumnSeparator, MapError, Source};

/// The largest number of tasks.
const MOST_TASKS: usize = 10_000_000;

/// How the values of several sources are combined.
#[derive(Clone, Debug, Default)]
pub struct Combining {
    /// Takes one value of each source together, and begins shorter sources again (`--link`).
    pub link_all: bool,
    /// What separates the columns of a value (`--colsep`, `--csv`): each column becomes a value of its own.
    pub column_separator: Option<ColumnSeparator>,
    /// Removes white space around each value. GNU parallel does so with `--colsep`.
    pub trims: bool,
    /// Number of values for each task (`-n`); `None` for one of each source. With 0, each value makes a task that does not
    /// use it.
    pub group: Option<usize>,
    /// The first value of each source is its name (`--header :`).
    pub header: bool,
}

/// The values of one task, or one value of each source.
type Row = Vec<Vec<u8>>;

/// Returns the names of the sources, if they have a header, and the values of each task, in order: the values of the last
/// source change fastest.
///
/// # Errors
/// If there are too many tasks, a source has no name, or `group` is used with several sources.
pub fn combined(mut sources: Vec<Source>, how: &Combining) -> Result<(Row, Vec<Row>), MapError> {
    let columns = |value: Vec<u8>| match &how.column_separator {
        Some(separator) => separator.columns(&value),
        None => vec![value],
    };
    let mut names = Vec::new();
    if how.header {
        for source in &mut sources {
            if source.values.is_empty() {
                return Err(MapError::Values(
                    "with --header the first value of each input source is its name, and one source is empty"
                        .to_owned(),
                ));
            }
            names.extend(columns(source.values.remove(0)));
        }
    }
    let rows = rows(sources, how)?;
    let values = rows.into_iter().map(|row| {
        let values = row.into_iter().flat_map(&columns);
        if how.trims { values.map(|value| trimmed(&value).to_vec()).collect() } else { values.collect() }
    });
    let tasks: Vec<Row> = match how.group {
        None => values.collect(),
        Some(0) => values.map(|_: Row| Vec::new()).collect(),
        Some(size) => values.collect::<Vec<_>>().chunks(size).map(<[Vec<Vec<u8>>]>::concat).collect(),
    };
    Ok((names, tasks))
}

/// Returns one value of each source for each task.
fn rows(sources: Vec<Source>, how: &Combining) -> Result<Vec<Row>, MapError> {
    if how.group.is_some_and(|size| size != 1) && sources.len() > 1 {
        return Err(MapError::Option(
            "-n and -N take values of one input source, but there are several: join them into one, or use :::+"
                .to_owned(),
        ));
    }
    if how.link_all {
        let longest = sources.iter().map(|source| source.values.len()).max().unwrap_or(0);
        if sources.iter().any(|source| source.values.is_empty()) {
            return Ok(Vec::new());
        }
        check_count(longest)?;
        let row = |at: usize| sources.iter().map(|source| source.values[at % source.values.len()].clone()).collect();
        return Ok((0..longest).map(row).collect());
    }
    // Linked sources form a group. Of a group, as many rows are used as its shortest source has values.
    let mut groups: Vec<Vec<Row>> = Vec::new();
    for source in sources {
        match groups.last_mut().filter(|_| source.linked) {
            Some(group) => {
                group.truncate(source.values.len());
                group.iter_mut().zip(source.values).for_each(|(row, value)| row.push(value));
            }
            None => groups.push(source.values.into_iter().map(|value| vec![value]).collect()),
        }
    }
    let count = groups.iter().map(Vec::len).try_fold(1_usize, usize::checked_mul);
    check_count(count.unwrap_or(usize::MAX))?;
    let mut rows: Vec<Row> = vec![Vec::new()];
    for group in &groups {
        rows = rows.iter().flat_map(|row| group.iter().map(|values| [&row[..], values].concat())).collect();
    }
    Ok(if groups.is_empty() { Vec::new() } else { rows })
}

fn check_count(count: usize) -> Result<(), MapError> {
    if count <= MOST_TASKS {
        return Ok(());
    }
    Err(MapError::Values(format!("the input sources give more than {MOST_TASKS} tasks; split them into several runs")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(values: &[&str], linked: bool) -> Source {
        Source { values: values.iter().map(|value| value.as_bytes().to_vec()).collect(), linked }
    }

    fn tasks(sources: &[Source], how: &Combining) -> Vec<String> {
        let (_, tasks) = combined(sources.to_vec(), how).unwrap();
        tasks.iter().map(|values| String::from_utf8(values.join(&b' ')).unwrap()).collect()
    }

    #[test]
    fn several_sources_make_a_grid() {
        let sources = [source(&["a", "b"], false), source(&["1", "2"], false)];
        assert_eq!(tasks(&sources, &Combining::default()), ["a 1", "a 2", "b 1", "b 2"]);
        let none = [source(&["a", "b"], false), source(&[], false)];
        assert!(tasks(&none, &Combining::default()).is_empty());
        assert!(tasks(&[], &Combining::default()).is_empty());
    }

    #[test]
    fn linked_sources_are_taken_together() {
        let sources = [source(&["a", "b"], false), source(&["1", "2", "3"], true), source(&["x", "y"], false)];
        assert_eq!(tasks(&sources, &Combining::default()), ["a 1 x", "a 1 y", "b 2 x", "b 2 y"]);
        let link = Combining { link_all: true, ..Combining::default() };
        assert_eq!(tasks(&sources, &link), ["a 1 x", "b 2 y", "a 3 x"]);
    }

    #[test]
    fn values_are_grouped_and_split_into_columns() {
        let group = |size| Combining { group: Some(size), ..Combining::default() };
        assert_eq!(tasks(&[source(&["a", "b", "c"], false)], &group(2)), ["a b", "c"]);
        assert_eq!(tasks(&[source(&["a", "b"], false)], &group(0)), ["", ""]);
        assert!(combined(vec![source(&["a"], false), source(&["b"], false)], &group(2)).is_err());
        assert_eq!(tasks(&[source(&["a"], false), source(&["b", "c"], false)], &group(1)), ["a b", "a c"]);
        let separator = ColumnSeparator::new(",").unwrap();
        let split = Combining { column_separator: Some(separator), trims: true, ..Combining::default() };
        let (_, tasks) = combined(vec![source(&["a, b", " c,\t, d "], false)], &split).unwrap();
        assert_eq!(tasks[1], [b"c".to_vec(), Vec::new(), b"d".to_vec()]);
        assert_eq!(tasks[0].len(), 2);
    }

    #[test]
    fn the_header_names_the_sources() {
        let header = Combining { header: true, ..Combining::default() };
        let sources = vec![source(&["f1", "A", "B"], false), source(&["f2", "C"], false)];
        let (names, tasks) = combined(sources, &header).unwrap();
        assert_eq!(names, [b"f1".to_vec(), b"f2".to_vec()]);
        assert_eq!(tasks, [[b"A".to_vec(), b"C".to_vec()], [b"B".to_vec(), b"C".to_vec()]]);
        assert!(combined(vec![source(&[], false)], &header).is_err());
    }

    #[test]
    fn too_many_tasks_are_refused() {
        let many: Vec<String> = (0..4000).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let sources = vec![source(&many, false), source(&many, false)];
        assert!(combined(sources, &Combining::default()).is_err());
    }
}
