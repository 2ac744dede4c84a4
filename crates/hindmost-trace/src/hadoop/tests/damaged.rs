//! Tests of logs that are cut or damaged anywhere.

use serde_json::Value;

use super::super::issues::{Issues, Source};
use super::super::{HadoopFormat, sniff};
use super::{BINARY, V3, counted, numbers, warning};
use crate::error::TraceError;

/// A history of Hadoop 1.x.
const TEXT: &str = include_str!("../../../tests/it/fixtures/hadoop/text.log");
/// A job of a Rumen trace, in several lines; and two jobs in one line.
const RUMEN: &str = include_str!("../../../tests/it/fixtures/hadoop/rumen.json");
const TWO_JOBS: &str = include_str!("../../../tests/it/fixtures/hadoop/rumen_two_jobs.json");

/// Where the header and each event of [`BINARY`] end, as counted when another program encoded them.
const ENDS: [usize; 20] = [
    5510, 5553, 5619, 5651, 5679, 5721, 5760, 5800, 5895, 6100, 6195, 6295, 6393, 6581, 6786, 6988, 7088, 7186, 7379,
    7571,
];

/// Returns the beginning of the history in JSON with this many events.
fn events(count: usize) -> &'static str {
    let ends = V3.match_indices("\n\n").map(|(at, end)| at + end.len());
    count.checked_sub(1).and_then(|last| ends.clone().nth(last)).map_or("", |end| &V3[..end])
}

#[test]
fn only_an_event_that_is_cut_in_half_is_lost() {
    let (expected, _) = counted(V3.as_bytes()).unwrap();
    let lines: Vec<&str> = V3.lines().collect();
    let ends = lines.iter().enumerate().skip(2).filter(|(_, line)| line.contains("_ATTEMPT_F"));
    for (index, line) in ends {
        let mut less = lines.clone();
        less[index] = &line[..line.len() / 2];
        let (summary, _) = counted(less.join("\n").as_bytes()).unwrap();
        assert_eq!(summary.attempts, expected.attempts - 1, "line {index}");
        warning(&summary, "it is incomplete");
    }
}

#[test]
fn logs_of_other_programs_are_refused() {
    let error = counted(b"").unwrap_err().to_string();
    assert!(error.contains("it is empty"), "{error}");
    let error = counted(b"{\"Event\":\"SparkListenerLogStart\"}").unwrap_err().to_string();
    assert!(error.contains("no Hadoop log") && error.contains("SparkListener"), "{error}");
    let error = counted(br#"{"name":"<root>","children":[]}"#).unwrap_err();
    assert!(matches!(error, TraceError::NotHadoop { .. }), "{error}");
}

#[test]
fn a_cut_binary_history_is_read_up_to_the_cut() {
    for cut in 0..BINARY.len() {
        let whole = ENDS.iter().filter(|&&end| end <= cut).count().saturating_sub(1);
        match counted(&BINARY[..cut]) {
            Ok((summary, _)) => {
                assert!(whole > 0);
                let (expected, _) = counted(events(whole).as_bytes()).unwrap();
                assert_eq!(numbers(&summary), numbers(&expected), "{cut}");
                if !ENDS.contains(&cut) {
                    warning(&summary, &format!("cut short in event {}", whole + 1));
                }
                warning(&summary, "no end in the log");
            }
            Err(TraceError::NothingComplete { line, .. }) => {
                assert_eq!((whole, line), (0, if cut <= "Avro-Binary\n".len() { 1 } else { 2 }), "{cut}");
            }
            Err(TraceError::NotHadoop { .. }) => assert!(cut < 12, "{cut}"),
            Err(error) => panic!("{cut}: {error}"),
        }
    }
}

#[test]
fn damage_ends_a_binary_history_with_a_warning() {
    // Makes the type of the eighth event an invalid symbol.
    let mut bytes = BINARY.to_vec();
    bytes[ENDS[7]] = 0x7e;
    let (summary, _) = counted(&bytes).unwrap();
    warning(&summary, "damaged and read only up to the damage; the first at event 8");
    assert_eq!(summary.attempts, 0);
    // Nothing can be read without a schema.
    let error = counted(b"Avro-Binary\n{\"type\":\"nothing\"}\n\0\0").unwrap_err();
    assert!(error.to_string().contains("schema can't be read"), "{error}");
    // A schema that spans several lines, with Windows line ends.
    let header = std::str::from_utf8(&BINARY[..ENDS[0]]).unwrap();
    let schema: Value = serde_json::from_str(header.lines().nth(1).unwrap()).unwrap();
    let mut pretty = format!("Avro-Binary\r\n{}\r\n", serde_json::to_string_pretty(&schema).unwrap()).into_bytes();
    pretty.extend(&BINARY[ENDS[0]..]);
    assert_eq!(counted(&pretty).unwrap(), counted(BINARY).unwrap());
}

#[test]
fn warnings_name_the_file_if_there_are_several() {
    let source = Source { name: "b.jhist".to_owned(), path: None, file: 1, one_of_several: true };
    let mut issues = Issues::default();
    issues.unreadable_event(&source, 3);
    let mut warnings = Vec::new();
    issues.add_warnings(&mut warnings);
    assert_eq!(warnings, ["1 record was skipped, because it can't be read; the first is event 3 of b.jhist."]);
}

#[test]
fn a_cut_text_history_is_read_up_to_the_cut() {
    let full = counted(TEXT.as_bytes()).unwrap().0.attempts;
    for cut in TEXT.find("Job").unwrap()..TEXT.len() {
        let Ok((summary, _)) = counted(&TEXT.as_bytes()[..cut]) else { continue };
        assert!(summary.attempts <= full);
        let is_end_of_record = TEXT[..cut].trim_end().ends_with('.');
        let warned = summary.warnings.iter().any(|warning| warning.contains("cut short") || warning.contains("no end"));
        assert!(warned || is_end_of_record || cut + 3 >= TEXT.len(), "{cut}: {:?}", summary.warnings);
    }
}

#[test]
fn text_histories_are_recognised() {
    assert_eq!(sniff(TEXT.as_bytes()), Some(HadoopFormat::HistoryText));
    let bare = "$!!FILE=file1.log!!\nJob JOBID=\"job_1_1\" JOBNAME=\"x\"\n";
    assert_eq!(sniff(bare.as_bytes()), Some(HadoopFormat::HistoryText));
}

#[test]
fn a_trace_cut_anywhere_keeps_its_complete_tasks() {
    let (one_line, _) = TWO_JOBS.split_once(" {\"priority\"").unwrap();
    let text = format!("{RUMEN}{one_line}");
    let mut last = 0;
    for cut in (0..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
        match counted(&text.as_bytes()[..cut]) {
            Ok((summary, _)) => {
                assert!((last..=10).contains(&summary.attempts), "{cut}");
                last = summary.attempts;
                if cut != RUMEN.len() && cut != RUMEN.len() - 1 {
                    assert!(summary.warnings.len() > 1, "{cut}");
                }
            }
            Err(error) => {
                assert_eq!(last, 0, "{cut}: {error}");
                assert!(matches!(error, TraceError::NothingComplete { .. } | TraceError::NotHadoop { .. }), "{error}");
            }
        }
    }
    assert_eq!(last, 10);
    let damaged = format!("{}\n{RUMEN}", &RUMEN[..RUMEN.len() / 2]);
    let (summary, _) = counted(damaged.as_bytes()).unwrap();
    warning(&summary, "an incomplete job");
    assert!(summary.attempts > 5 && summary.jobs == 2);
}
