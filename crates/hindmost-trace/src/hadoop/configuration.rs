//! Reads the configuration of a job, which Hadoop keeps beside its history: `job_1700_0001_conf.xml`.
//!
//! Only the settings that matter for stragglers and copies are kept. The file is untrusted: its size is limited, entities
//! that it defines are not replaced, and of a file that can't be read completely nothing is kept.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, Event};

use crate::reading::compression::Plain;

/// Beginnings of the names of settings that are kept.
const SETTINGS: [&str; 18] = [
    "mapreduce.map.speculative",
    "mapreduce.reduce.speculative",
    "mapreduce.job.speculative.",
    "mapred.map.tasks.speculative.execution",
    "mapred.reduce.tasks.speculative.execution",
    "mapred.speculative.execution.",
    "yarn.app.mapreduce.am.job.task.estimator.class",
    "mapreduce.fileoutputcommitter.",
    "mapreduce.outputcommitter.",
    "mapred.output.committer.class",
    "mapred.output.direct.",
    "mapreduce.job.outputformat.class",
    "mapreduce.outputformat.class",
    "mapred.output.format.class",
    "mapreduce.job.reduces",
    "mapred.reduce.tasks",
    "mapreduce.job.reduce.slowstart.completedmaps",
    "mapred.reduce.slowstart.completed.maps",
];
/// The end of the name of a configuration that is not compressed.
const END: &str = "_conf.xml";
/// What follows if it is compressed.
const COMPRESSED: [&str; 3] = ["", ".gz", ".zst"];
/// The most decompressed bytes of a configuration. They have some 100 KB, and with the query of a warehouse some MB.
const LONGEST: u64 = 16 << 20;
/// The most bytes of a name or a value that is kept.
const LONGEST_TEXT: usize = 1000;

/// The kept settings of a job, by name.
pub(super) type Settings = BTreeMap<String, String>;

/// Returns whether a file is named like the configuration of a job.
pub(super) fn is_named_like_one(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.contains("job_") && COMPRESSED.iter().any(|end| name.strip_suffix(end).is_some_and(|name| name.ends_with(END)))
}

/// Returns the configuration of a job in the folder of its history. `id` is the job's id in the history.
pub(super) fn beside(history: &Path, id: Option<&str>) -> Option<PathBuf> {
    let name = history.file_name()?.to_string_lossy();
    // The id is from the log, so it may be anything.
    let is_id =
        |id: &&str| id.starts_with("job_") && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let id = id.filter(is_id);
    let mut beginnings = Vec::new();
    if let Some((_, to)) = id_in(&name).filter(|(from, to)| id.is_none_or(|id| id == &name[*from..*to])) {
        // An ApplicationMaster adds its number to the job's id, as in job_1700_0001_1.jhist and job_1700_0001_1_conf.xml.
        let stem = name.split('.').next().unwrap_or(&name);
        beginnings.extend([&name[..to], stem]);
    }
    beginnings.extend(id);
    let mut paths = beginnings.iter().flat_map(|beginning| {
        COMPRESSED.iter().map(move |end| history.with_file_name(format!("{beginning}{END}{end}")))
    });
    // A pipe of this name would never end.
    paths.find(|path| path.is_file())
}

/// Returns where a file's name has the id of a job. Before 0.20.203 the JobTracker's name comes first:
/// `host_1240335962848_job_200904211745_0002_user_name`.
fn id_in(name: &str) -> Option<(usize, usize)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    name.match_indices("job_").find_map(|(from, prefix)| {
        let rest = &name[from + prefix.len()..];
        let first = digits(rest);
        let second = digits(rest[first..].strip_prefix('_')?);
        (first > 0 && second > 0).then_some((from, from + prefix.len() + first + 1 + second))
    })
}

/// Reads the settings of a configuration.
///
/// # Errors
///
/// Says why it can't be read.
pub(super) fn read(path: &Path) -> Result<Settings, String> {
    let plain = File::open(path).and_then(Plain::new).map_err(|error| error.to_string())?;
    let mut limited = plain.take(LONGEST);
    let found = parse(BufReader::new(&mut limited));
    if limited.limit() == 0 {
        return Err(format!("it has more than {} MiB", LONGEST >> 20));
    }
    match limited.get_ref().damage() {
        Some(damage) => Err(format!("it can't be decompressed ({damage})")),
        None => found,
    }
}

/// Which text of a property is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Name,
    Value,
    Other,
}

/// A property so far.
#[derive(Debug, Default)]
struct Property {
    name: Option<String>,
    value: Option<String>,
    /// True if a text is too long, or has an entity that XML does not define.
    is_unusable: bool,
}

impl Property {
    fn begin(&mut self, part: Part) {
        match part {
            Part::Name => self.name = Some(String::new()),
            Part::Value => self.value = Some(String::new()),
            Part::Other => {}
        }
    }

    fn add(&mut self, part: Part, more: &str) {
        let text = match part {
            Part::Name => &mut self.name,
            Part::Value => &mut self.value,
            Part::Other => return,
        };
        let Some(text) = text else { return };
        if text.len() + more.len() > LONGEST_TEXT {
            self.is_unusable = true;
        } else {
            text.push_str(more);
        }
    }

    /// Returns the name and the value, if the setting is one that is kept.
    fn kept(&mut self) -> Option<(String, String)> {
        let (name, value) = (self.name.take()?, self.value.take()?);
        let (name, value) = (name.trim(), value.trim());
        let is_kept = !self.is_unusable && SETTINGS.iter().any(|beginning| name.starts_with(beginning));
        is_kept.then(|| (name.to_owned(), value.to_owned()))
    }
}

/// Returns the settings of a configuration: `<configuration>` with a `<property>` for each, which has a `<name>` and a `<value>`.
fn parse(reader: impl BufRead) -> Result<Settings, String> {
    let mut reader = Reader::from_reader(reader);
    let mut buffer = Vec::new();
    let mut settings = Settings::new();
    let (mut property, mut part) = (Property::default(), Part::Other);
    let (mut depth, mut is_whole) = (0, false);
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).map_err(|error| error.to_string())? {
            Event::Start(tag) => {
                match (depth, tag.name().into_inner()) {
                    (0, "configuration") => {}
                    (0, _) => return Err("it is not a configuration of Hadoop".to_owned()),
                    (1, _) => property = Property::default(),
                    (2, name) => {
                        part = match name {
                            "name" => Part::Name,
                            "value" => Part::Value,
                            _ => Part::Other,
                        };
                        property.begin(part);
                    }
                    _ => {}
                }
                depth += 1;
            }
            Event::Empty(tag) => match (depth, tag.name().into_inner()) {
                (0, "configuration") => is_whole = true,
                (2, "value") => property.begin(Part::Value),
                _ => {}
            },
            Event::End(tag) => {
                depth -= 1;
                match depth {
                    0 => is_whole = true,
                    1 if tag.name().into_inner() == "property" => settings.extend(property.kept()),
                    2 => part = Part::Other,
                    _ => {}
                }
            }
            Event::Text(text) if depth == 3 => property.add(part, &text.xml10_content()),
            Event::CData(text) if depth == 3 => property.add(part, &text.xml10_content()),
            Event::GeneralRef(entity) if depth == 3 => match resolved(&entity) {
                Some(text) => property.add(part, &text),
                None => property.is_unusable = true,
            },
            Event::Eof => break,
            _ => {}
        }
    }
    if is_whole { Ok(settings) } else { Err("it is incomplete".to_owned()) }
}

/// Returns what an entity of XML stands for; `None` for entities that a file defines.
fn resolved(entity: &BytesRef<'_>) -> Option<String> {
    if let Some(sign) = entity.resolve_char_ref().ok()? {
        return Some(sign.to_string());
    }
    resolve_xml_entity(&entity.xml10_content()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn settings(xml: &str) -> Result<Vec<(String, String)>, String> {
        parse(xml.as_bytes()).map(|settings| settings.into_iter().collect())
    }

    fn one(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), value.to_owned())]
    }

    #[test]
    fn settings_that_matter_are_kept() {
        let xml = r#"<?xml version="1.0" encoding="UTF-8" standalone="no"?><!-- written by Hadoop -->
<configuration>
<property><name>mapreduce.map.speculative</name><value>false</value><final>true</final><source>job.xml</source></property>
<property>
  <name> mapred.output.committer.class </name>
  <value>a.b&lt;C&#62;<![CDATA[&D]]></value>
</property>
<property><name>mapreduce.job.reduces</name><value>3</value></property>
<property><source>job.xml</source><value>4</value><name>mapreduce.job.reduces</name></property>
<property><name>fs.s3a.secret.key</name><value>secret</value></property>
<property><name>mapreduce.job.outputformat.class</name></property>
<property><name>mapred.output.format.class</name><value/></property>
<property><value>true</value></property>
<note><name>mapreduce.reduce.speculative</name><value>true</value></note>
</configuration>
"#;
        let found = settings(xml).unwrap();
        let kept = [
            ("mapred.output.committer.class", "a.b<C>&D"),
            ("mapred.output.format.class", ""),
            ("mapreduce.job.reduces", "4"),
            ("mapreduce.map.speculative", "false"),
        ];
        assert_eq!(found, kept.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(settings("<configuration/>").unwrap().is_empty());
    }

    #[test]
    fn files_that_are_no_configuration_are_refused() {
        let property = "<property><name>mapreduce.map.speculative</name><value>false</value></property>";
        for (xml, why) in [
            (String::new(), "incomplete"),
            ("no XML".to_owned(), "incomplete"),
            (format!("<configuration>{property}"), "incomplete"),
            (format!("<configuration>{property}</property></configuration>"), "property"),
            (format!("<html>{property}</html>"), "not a configuration"),
            (format!("<configuration>{property}<"), ""),
        ] {
            let error = settings(&xml).unwrap_err();
            assert!(error.contains(why), "{xml}: {error}");
        }
    }

    #[test]
    fn no_entities_are_replaced_and_no_long_values_kept() {
        let bomb = "<!DOCTYPE configuration [<!ENTITY a \"true\"><!ENTITY b \"&a;&a;&a;\"><!ENTITY c SYSTEM \"file:///etc/passwd\">]>";
        let property =
            |value: &str| format!("<property><name>mapreduce.map.speculative</name><value>{value}</value></property>");
        let reduces = "<property><name>mapreduce.job.reduces</name><value>2</value></property>";
        for value in ["&b;", "&c;", "x&#0;", "&#xffffffff;", &"true".repeat(LONGEST_TEXT)] {
            let xml = format!("{bomb}<configuration>{}{reduces}</configuration>", property(value));
            assert_eq!(settings(&xml).unwrap(), one("mapreduce.job.reduces", "2"), "{value}");
        }
        assert_eq!(
            settings(&format!("<configuration>{}</configuration>", property("true"))).unwrap(),
            one("mapreduce.map.speculative", "true")
        );
    }

    #[test]
    fn the_configuration_of_a_history_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for (history, id, configuration) in [
            (
                "job_1700_0001-1700000000000-u-sort-1700000009000-2-1-SUCCEEDED-q-1.jhist",
                Some("job_1700_0001"),
                "job_1700_0001_conf.xml",
            ),
            ("job_1700_0001-9-u-n-9-1-0-SUCCEEDED-q.jhist.gz", None, "job_1700_0001_conf.xml.gz"),
            ("job_1700_0001_2.jhist", Some("job_1700_0001"), "job_1700_0001_2_conf.xml"),
            ("renamed.jhist", Some("job_1700_0001"), "job_1700_0001_conf.xml.zst"),
            ("job_201203_0007_1330000000000_u_word+count", Some("job_201203_0007"), "job_201203_0007_conf.xml"),
            (
                "host_1240335962848_job_200904211745_0002_u_n",
                Some("job_200904211745_0002"),
                "host_1240335962848_job_200904211745_0002_conf.xml",
            ),
            ("job_1700_0001-1-u-n-9-1-0-SUCCEEDED-q.jhist", Some("job_1700_0009"), "job_1700_0009_conf.xml"),
        ] {
            let (history, path) = (folder.path().join(history), folder.path().join(configuration));
            assert_eq!(beside(&history, id), None, "{configuration}");
            fs::write(&path, "<configuration/>").unwrap();
            assert_eq!(beside(&history, id).as_deref(), Some(&*path));
            assert!(is_named_like_one(&path));
            assert!(read(&path).unwrap().is_empty());
            fs::remove_file(&path).unwrap();
        }
        // Ids lead to no other folder.
        fs::create_dir(folder.path().join("job_1")).unwrap();
        fs::write(folder.path().join("other_conf.xml"), "<configuration/>").unwrap();
        assert_eq!(beside(&folder.path().join("log"), Some("job_1/../other")), None);
        for other in ["conf.xml", "job_1_1.jhist", "job_1_1.xml", "core-site.xml"] {
            assert!(!is_named_like_one(Path::new(other)), "{other}");
        }
    }

    #[test]
    fn long_and_damaged_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("job_1_1_conf.xml.gz");
        let text = format!("<configuration>{}</configuration>", " ".repeat(LONGEST as usize));
        let packed = super::super::tests::gzip(text.as_bytes());
        fs::write(&path, &packed).unwrap();
        assert_eq!(read(&path).unwrap_err(), "it has more than 16 MiB");
        fs::write(&path, &packed[..packed.len() / 2]).unwrap();
        assert!(read(&path).unwrap_err().contains("decompressed"));
        assert!(read(&folder.path().join("missing")).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(<configuration>)?(<[/!?a-z]{0,3}(property|name|value)?/?>?|&[#a-z0-9]{0,4};?|[ \
                                                -~]{0,9}){0,40}(</configuration>)?") {
            let _ = settings(&text);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes[..]);
        }
    }
}
