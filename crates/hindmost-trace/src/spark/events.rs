//! The kinds of events in a Spark log, recognised by the beginning of a line.

use serde::Deserialize;

use crate::reading::values::Text;

/// The kinds of events. Events of the kinds `OtherSpark` and `Foreign` are skipped without parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    LogStart,
    /// The first line of a part of a log of Databricks.
    Rollover,
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
    /// Of this event, only the task id is read.
    TaskStart,
    TaskEnd,
    /// An executor gets no more tasks of a stage, or no more tasks at all.
    ExecutorExcluded,
    /// The executors of a host get no more tasks.
    NodeExcluded,
    /// A speculative copy of a task was requested; only counted.
    SpeculationRequested,
    /// The description is near the beginning; the plan after it may be very long and is not read.
    SqlStart,
    SqlEnd,
    /// Any other event of Spark itself.
    OtherSpark,
    /// An event of an extension of Spark.
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
            None if name == b"DBCEventLoggingListenerMetadata" => Kind::Rollover,
            None => match memchr::memmem::rfind(name, b"SparkListener") {
                Some(at) if name.starts_with(b"org.apache.spark.") => Kind::of_class(&name[at + 13..]),
                Some(_) => Kind::OtherSpark,
                None => Kind::Foreign,
            },
        }
    }

    /// Recognises an event by its class name without the prefix `SparkListener`.
    fn of_class(name: &[u8]) -> Kind {
        match name {
            b"ExecutorExcluded"
            | b"ExecutorExcludedForStage"
            | b"ExecutorBlacklisted"
            | b"ExecutorBlacklistedForStage" => Kind::ExecutorExcluded,
            b"NodeExcluded" | b"NodeExcludedForStage" | b"NodeBlacklisted" | b"NodeBlacklistedForStage" => {
                Kind::NodeExcluded
            }
            b"SpeculativeTaskSubmitted" => Kind::SpeculationRequested,
            b"SQLExecutionStart" => Kind::SqlStart,
            b"SQLExecutionEnd" => Kind::SqlEnd,
            _ => Kind::OtherSpark,
        }
    }

    /// Returns whether fields of the event are needed, so that the whole line must be read.
    pub(super) fn is_read(self) -> bool {
        !matches!(
            self,
            Kind::TaskStart | Kind::SpeculationRequested | Kind::SqlStart | Kind::OtherSpark | Kind::Foreign
        )
    }
}

/// Classifies a long line by its beginning; `None` if the line is needed.
pub(super) fn not_needed(beginning: &[u8]) -> Option<Head> {
    match head(beginning) {
        Head::Event(kind) if kind.is_read() => None,
        Head::Object => None,
        head => Some(head),
    }
}

/// Returns whether the line may be the beginning of a Spark event.
pub(super) fn may_be_event(line: &[u8]) -> bool {
    let expected = br#"{"Event":"#;
    let compact: Vec<u8> = line.iter().copied().filter(|b| !b.is_ascii_whitespace()).take(expected.len()).collect();
    expected.starts_with(&compact)
}

/// The class of a line, according to its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// An event of this kind.
    Event(Kind),
    /// A JSON object that does not begin with the event's name; the name may come later.
    Object,
    /// Not a JSON object.
    Other,
}

/// Classifies a line (without leading blanks) by the event's name, which Spark writes first. Reads nothing after the
/// name.
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

/// Parses the name of an event whose name does not come first. Returns `Ok(None)` for an object without an event
/// name.
pub(super) fn kind_by_parsing(line: &[u8]) -> Result<Option<Kind>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(rename = "Event", borrow, default)]
        event: Text<'a>,
    }
    let named: Named<'_> = parse(line)?;
    Ok(named.event.get().map(|name| Kind::of(name.as_bytes())))
}

/// Parses the needed fields of a line.
pub(super) fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_names_are_found_only_at_the_beginning() {
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
    fn the_beginning_shows_whether_a_line_is_needed() {
        assert_eq!(not_needed(br#"{"Event":"SparkListenerJobStart","Job ID":0"#), None);
        assert_eq!(not_needed(br#"{"Job ID":0"#), None);
        let other = Head::Event(Kind::OtherSpark);
        assert_eq!(not_needed(br#"{"Event":"SparkListenerUnheardOf","x":"#), Some(other));
        assert_eq!(not_needed(b"text"), Some(Head::Other));
        assert!(may_be_event(br#"{ "Ev"#) && may_be_event(br#"{"Event":"Spark"#));
        assert!(!may_be_event(br#"{"foo"#));
    }
}
