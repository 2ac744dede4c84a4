//! Gives numbers to machines and racks.

use rustc_hash::FxHashMap;

/// The number of a machine.
pub(super) type Host = u32;

#[derive(Debug, Default)]
pub(super) struct Hosts {
    names: Vec<Box<str>>,
    by_name: FxHashMap<Box<str>, Host>,
    /// The rack of each machine, if known.
    racks: Vec<Option<u32>>,
    by_rack: FxHashMap<Box<str>, u32>,
    /// Whether a map or reduce ran on each machine.
    ran: Vec<bool>,
}

impl Hosts {
    /// Returns the machine in a field such as `node7`, `/rack1/node7`, `/rack1/node7\.example\.com` or
    /// `tracker_node7:localhost/127.0.0.1:4711`; `None` if the field names none.
    pub(super) fn of(&mut self, field: &str) -> Option<Host> {
        if matches!(field, "" | "N/A") || field.eq_ignore_ascii_case("unknown") {
            return None;
        }
        // Logs before Hadoop 0.21 put a backslash before dots, and Rumen keeps it.
        let unescaped;
        let field = if field.contains('\\') {
            unescaped = field.replace('\\', "");
            &unescaped
        } else {
            field
        };
        let (rack, name) = match field.strip_prefix("tracker_") {
            Some(tracker) => ("", tracker.split(':').next().unwrap_or(tracker)),
            None => field.rsplit_once('/').unwrap_or(("", field)),
        };
        // Removes a port, but not the end of an IPv6 address.
        let name = match name.split_once(':') {
            Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => name,
        };
        let name = name.trim();
        if name.is_empty() {
            return None;
        }
        let host = if let Some(&host) = self.by_name.get(name) {
            host
        } else {
            let host = self.names.len() as Host;
            self.names.push(name.into());
            self.by_name.insert(name.into(), host);
            self.racks.push(None);
            self.ran.push(false);
            host
        };
        self.in_rack(host, rack);
        Some(host)
    }

    /// Returns the machine that Rumen's `layers` name: the first layer is the rack, the second the machine.
    pub(super) fn of_layers(&mut self, layers: &[&str]) -> Option<Host> {
        let (name, racks) = layers.split_last()?;
        let host = self.of(name)?;
        if let Some(rack) = racks.last() {
            self.in_rack(host, &rack.replace('\\', ""));
        }
        Some(host)
    }

    /// Records the rack of a machine, such as `/default-rack`.
    pub(super) fn in_rack(&mut self, host: Host, rack: &str) {
        let rack = rack.trim_start_matches('/');
        if rack.is_empty() || self.racks[host as usize].is_some() {
            return;
        }
        let next = self.by_rack.len() as u32;
        let number = match self.by_rack.get(rack) {
            Some(&number) => number,
            None => *self.by_rack.entry(rack.into()).or_insert(next),
        };
        self.racks[host as usize] = Some(number);
    }

    pub(super) fn rack(&self, host: Host) -> Option<u32> {
        self.racks[host as usize]
    }

    pub(super) fn name(&self, host: Host) -> &str {
        self.names.get(host as usize).map_or("", |name| name)
    }

    /// Records that a map or reduce ran on a machine.
    pub(super) fn ran(&mut self, host: Host) {
        self.ran[host as usize] = true;
    }

    /// Returns the machines on which maps or reduces ran, in the order in which the log names them.
    pub(super) fn that_ran(&self) -> impl Iterator<Item = Host> {
        self.ran.iter().zip(0..).filter(|(ran, _)| **ran).map(|(_, host)| host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_recognised_in_every_spelling() {
        let mut hosts = Hosts::default();
        let first = hosts.of("node7.example.com").unwrap();
        assert_eq!(hosts.rack(first), None);
        for field in [
            "/rack1/node7.example.com",
            r"/192\.30\.62\.128/node7\.example\.com",
            "tracker_node7.example.com:localhost/127.0.0.1:4711",
            "node7.example.com:8042",
        ] {
            assert_eq!(hosts.of(field), Some(first), "{field}");
        }
        assert_eq!(hosts.of_layers(&["rack1", r"node7\.example\.com"]), Some(first));
        let other = hosts.of_layers(&["rack1", "node8"]).unwrap();
        assert_eq!(hosts.rack(other), hosts.rack(first));
        assert!(hosts.rack(other).is_some());
        for none in ["", "UNKNOWN", "/", "/rack/", "N/A"] {
            assert_eq!(hosts.of(none), None, "{none}");
        }
        assert_ne!(hosts.of("fe80::1"), hosts.of("fe80::2"));
        hosts.ran(other);
        assert_eq!(hosts.that_ran().collect::<Vec<_>>(), [other]);
        assert_eq!(hosts.name(other), "node8");
    }
}
