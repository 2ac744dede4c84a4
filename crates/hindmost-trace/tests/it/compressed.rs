//! Tests of logs in every compression: complete, as consecutive streams, cut and damaged.

use std::fs;
use std::path::Path;

use crate::reading::{counts_at, counts_of, open, open_stream};
use crate::support::{CODECS, Maker, packed};
use hindmost_trace::TraceError;
use hindmost_trace::TraceSummary;

fn count(data: &[u8]) -> TraceSummary {
    counts_of(data).unwrap()
}

/// Number of complete task end events in a text.
fn ends(text: &[u8]) -> u64 {
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let text = String::from_utf8_lossy(&text[..whole]);
    text.lines().filter(|line| line.starts_with(r#"{"Event":"SparkListenerTaskEnd""#)).count() as u64
}

#[test]
fn a_compressed_log_gives_the_counts_of_the_plain_log() {
    let (log, made) = Maker::whole(4 << 20);
    let plain = count(&log);
    assert_eq!((plain.attempts, plain.killed_attempts), (made.attempts, made.killed));
    assert_eq!(plain.warnings, [""; 0]);
    let replay = open_stream(log.as_slice(), "log").unwrap();
    for codec in CODECS {
        let packed_log = packed(codec, &log);
        assert!(packed_log.len() * 4 < log.len(), "{codec}");
        assert_eq!(count(&packed_log), plain, "{codec}");
        let same = open_stream(packed_log.as_slice(), "log").unwrap();
        assert_eq!(same.workload_jobs(), replay.workload_jobs(), "{codec}");
        assert_eq!(same.attempts(), replay.attempts(), "{codec}");
        // The log is split into two streams in the middle of a line.
        let (one, two) = log.split_at(log.len() / 2 + 17);
        assert_eq!(count(&[packed(codec, one), packed(codec, two)].concat()), plain, "{codec}");
    }
}

#[test]
fn the_compression_is_recognised_by_bytes_not_name() {
    let folder = tempfile::tempdir().unwrap();
    let (log, _) = Maker::whole(1 << 20);
    let plain = count(&log);
    for (codec, name) in CODECS.iter().zip(["a.zstd", "b", "c.gz", "d.json", "e.lzf"]) {
        let path = folder.path().join(name);
        let bytes = packed(codec, &log);
        fs::write(&path, &bytes).unwrap();
        let mut last = (0, None);
        let mut on_progress = |read, total| last = (read, total);
        assert_eq!(counts_at(&path, Some(&mut on_progress)).unwrap(), plain);
        // Progress is reported in compressed bytes.
        assert_eq!(last, (bytes.len() as u64, Some(bytes.len() as u64)));
        assert_eq!(open(&path).unwrap().summary().attempts, plain.attempts);
    }
    let path = folder.path().join("plain.zstd");
    fs::write(&path, &log).unwrap();
    assert_eq!(counts_at(&path, None).unwrap(), plain);
}

#[test]
fn a_cut_compressed_log_is_read_up_to_the_cut() {
    let (log, _) = Maker::whole(3 << 20);
    for codec in CODECS {
        let whole = packed(codec, &log);
        for share in [0.2, 0.5, 0.9, 0.999] {
            let cut = (whole.len() as f64 * share) as usize;
            let summary = count(&whole[..cut]);
            // zstd's blocks hold 128 KiB of the log, those of the other formats at most 32 KiB.
            let least = ends(&log[..((log.len() as f64 * share * 0.75) as usize).saturating_sub(140 << 10)]);
            assert!(summary.attempts >= least, "{codec} cut at {share}: {} of {least}", summary.attempts);
            let warned = summary
                .warnings
                .iter()
                .any(|warning| warning.contains("break off at byte") || warning.contains("cut short in line"));
            assert!(warned, "{codec}: {:?}", summary.warnings);
        }
        // The log is cut after its first 20 bytes.
        let error = counts_of(&whole[..20]).unwrap_err();
        assert!(matches!(error, TraceError::Damaged { .. }), "{codec}: {error}");
        assert!(error.to_string().contains("break off at byte 20"), "{codec}: {error}");
    }
}

#[test]
fn events_before_damage_are_counted() {
    let (log, _) = Maker::whole(3 << 20);
    for codec in CODECS {
        let mut damaged = packed(codec, &log);
        let at = damaged.len() / 2;
        damaged[at..at + 64].iter_mut().for_each(|byte| *byte ^= 0xa5);
        let summary = count(&damaged);
        let least = ends(&log[..log.len() / 4]);
        assert!(summary.attempts >= least, "{codec}: {} of {least}", summary.attempts);
        let warning = summary.warnings.iter().find(|warning| warning.contains("damaged at byte"));
        let warning = warning.unwrap_or_else(|| panic!("{codec}: {:?}", summary.warnings));
        assert!(warning.contains("everything before that was read"), "{warning}");
    }
}

#[test]
fn unsupported_compressions_are_refused_by_name() {
    let said = |bytes: &[u8]| counts_of(bytes).unwrap_err().to_string();
    assert!(said(b"\xfd7zXZ\0").contains("xz -d FILE"));
    assert!(said(b"PK\x03\x04xxxx").contains("unzip FILE"));
    assert!(said(b"BZh91AY&SY").contains("bzip2"));
    let tar = [&[b'x'; 257][..], b"ustar\0", &[0; 300]].concat();
    assert!(said(&tar).contains("tar -xf FILE"));
    // A tar archive within gzip, and a log that is compressed twice.
    assert!(said(&packed("gzip", &tar)).contains("tar -xf FILE"));
    let twice = packed("gzip", &packed("zstd", b"{\"Event\":\"SparkListenerLogStart\"}\n"));
    assert!(said(&twice).contains("zstd within another compression"));
    assert!(said(&packed("zstd", b"")).contains("is empty"));
}

#[test]
fn a_missing_file_is_an_open_error() {
    assert!(matches!(counts_at(Path::new("/nowhere/at/all"), None), Err(TraceError::Open { .. })));
}
