//! The events of a Spark log: which there are, told from the beginning of a line.

use serde::Deserialize;

use crate::reading::values::Text;

/// Events that are read or counted; all others are skipped unparsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    LogStart,
    ApplicationStart,
    ApplicationEnd,
    EnvironmentUpdate,
    ResourceProfileAdded,
    ExecutorAdded,
    ExecutorRemoved,
    BlockManagerAdded,
    JobStart,
    JobEnd,
    StageSubmitted,
    StageCompleted,
    /// Only counted.
    TaskStart,
    TaskEnd,
    /// An executor gets no tasks any more, of a stage or at all.
    ExecutorExcluded,
    /// No executor of a host gets tasks any more.
    NodeExcluded,
    /// A copy of a task is asked for; only counted.
    SpeculationAsked,
    /// Its description is near the beginning; the rest, a plan of any length, isn't looked at.
    SqlStart,
    SqlEnd,
    /// Any other event of Spark itself.
    OtherSpark,
    /// An event of something built on Spark.
    Foreign,
}

impl Kind {
    fn of(name: &[u8]) -> Kind {
        match name.strip_prefix(b"SparkListener") {
            Some(b"TaskEnd") => Kind::TaskEnd,
            Some(b"TaskStart") => Kind::TaskStart,
            Some(b"StageSubmitted") => Kind::StageSubmitted,
            Some(b"StageCompleted") => Kind::StageCompleted,
            Some(b"JobStart") => Kind::JobStart,
            Some(b"JobEnd") => Kind::JobEnd,
            Some(b"ExecutorAdded") => Kind::ExecutorAdded,
            Some(b"ExecutorRemoved") => Kind::ExecutorRemoved,
            Some(b"BlockManagerAdded") => Kind::BlockManagerAdded,
            Some(b"EnvironmentUpdate") => Kind::EnvironmentUpdate,
            Some(b"ResourceProfileAdded") => Kind::ResourceProfileAdded,
            Some(b"ApplicationStart") => Kind::ApplicationStart,
            Some(b"ApplicationEnd") => Kind::ApplicationEnd,
            Some(b"LogStart") => Kind::LogStart,
            Some(name) => Kind::of_class(name),
            None => match memchr::memmem::rfind(name, b"SparkListener") {
                Some(at) if name.starts_with(b"org.apache.spark.") => Kind::of_class(&name[at + 13..]),
                Some(_) => Kind::OtherSpark,
                None => Kind::Foreign,
            },
        }
    }

    /// Events that Spark writes by the name of their class, without the `SparkListener` before it.
    fn of_class(name: &[u8]) -> Kind {
        match name {
            b"ExecutorExcluded"
            | b"ExecutorExcludedForStage"
            | b"ExecutorBlacklisted"
            | b"ExecutorBlacklistedForStage" => Kind::ExecutorExcluded,
            b"NodeExcluded" | b"NodeExcludedForStage" | b"NodeBlacklisted" | b"NodeBlacklistedForStage" => {
                Kind::NodeExcluded
            }
            b"SpeculativeTaskSubmitted" => Kind::SpeculationAsked,
            b"SQLExecutionStart" => Kind::SqlStart,
            b"SQLExecutionEnd" => Kind::SqlEnd,
            _ => Kind::OtherSpark,
        }
    }

    /// Whether the event's fields are needed, so that the whole line is.
    pub(super) fn is_read(self) -> bool {
        !matches!(self, Kind::TaskStart | Kind::SpeculationAsked | Kind::SqlStart | Kind::OtherSpark | Kind::Foreign)
    }
}

/// What a long line is that isn't needed, from its beginning.
pub(super) fn not_needed(beginning: &[u8]) -> Option<Head> {
    match head(beginning) {
        Head::Event(kind) if kind.is_read() => None,
        Head::Object => None,
        head => Some(head),
    }
}

/// Whether the line may be the beginning of a Spark event.
pub(super) fn may_be_event(line: &[u8]) -> bool {
    let expected = br#"{"Event":"#;
    let compact: Vec<u8> = line.iter().copied().filter(|b| !b.is_ascii_whitespace()).take(expected.len()).collect();
    expected.starts_with(&compact)
}

/// What the beginning of a line tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// An event of this kind.
    Event(Kind),
    /// A JSON object whose first key is another: the event's name may come later.
    Object,
    /// Not a JSON object.
    Other,
}

/// Looks at the beginning of a line (without leading blanks) and no further than the event's name,
/// which Spark writes first.
pub(super) fn head(line: &[u8]) -> Head {
    let Some(rest) = line.strip_prefix(b"{") else {
        return Head::Other;
    };
    name_if_first(rest).map_or(Head::Object, |name| Head::Event(Kind::of(name)))
}

fn name_if_first(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.trim_ascii_start().strip_prefix(b"\"Event\"")?;
    let rest = rest.trim_ascii_start().strip_prefix(b":")?;
    let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    (rest[end] == b'"').then(|| &rest[..end])
}

/// The kind of an event whose name doesn't come first. `Ok(None)`: an object that names no event.
pub(super) fn kind_by_parsing(line: &[u8]) -> Result<Option<Kind>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(rename = "Event", borrow, default)]
        event: Text<'a>,
    }
    let named: Named<'_> = parse(line)?;
    Ok(named.event.get().map(|name| Kind::of(name.as_bytes())))
}

/// Parses a line's needed fields.
pub(super) fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_found_at_the_beginning_only() {
        let end = Head::Event(Kind::TaskEnd);
        assert_eq!(head(br#"{"Event":"SparkListenerTaskEnd","Stage ID":0}"#), end);
        assert_eq!(head(br#"{ "Event" : "SparkListenerTaskEnd" }"#), end);
        assert_eq!(head(br#"{"Stage ID":0,"Event":"SparkListenerTaskEnd"}"#), Head::Object);
        assert_eq!(head(br#"{"Event":"Spark\u004cistenerTaskEnd"}"#), Head::Object);
        assert_eq!(head(br#"{"Event":"SparkListenerTaskE"#), Head::Object);
        assert_eq!(head(b"[1]"), Head::Other);
        let sql = br#"{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"}"#;
        assert_eq!(head(sql), Head::Event(Kind::SqlStart));
        let sql = br#"{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate"}"#;
        assert_eq!(head(sql), Head::Event(Kind::OtherSpark));
        let kind = |name: &str| head(format!(r#"{{"Event":"{name}"}}"#).as_bytes());
        let executor = Head::Event(Kind::ExecutorExcluded);
        assert_eq!(kind("org.apache.spark.scheduler.SparkListenerExecutorBlacklisted"), executor);
        assert_eq!(kind("org.apache.spark.scheduler.SparkListenerExecutorExcludedForStage"), executor);
        assert_eq!(kind("SparkListenerExecutorUnexcluded"), Head::Event(Kind::OtherSpark));
        assert_eq!(kind("SparkListenerNodeExcluded"), Head::Event(Kind::NodeExcluded));
        assert_eq!(kind("com.example.SparkListenerNodeExcluded"), Head::Event(Kind::OtherSpark));
        assert_eq!(head(br#"{"Event":"com.example.Mine"}"#), Head::Event(Kind::Foreign));
    }

    #[test]
    fn the_beginning_tells_whether_a_line_is_needed() {
        assert_eq!(not_needed(br#"{"Event":"SparkListenerJobStart","Job ID":0"#), None);
        assert_eq!(not_needed(br#"{"Job ID":0"#), None);
        let other = Head::Event(Kind::OtherSpark);
        assert_eq!(not_needed(br#"{"Event":"SparkListenerUnheardOf","x":"#), Some(other));
        assert_eq!(not_needed(b"text"), Some(Head::Other));
        assert!(may_be_event(br#"{ "Ev"#) && may_be_event(br#"{"Event":"Spark"#));
        assert!(!may_be_event(br#"{"foo"#));
    }
}
