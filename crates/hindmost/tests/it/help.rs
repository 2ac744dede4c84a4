//! The width of help texts. `command_line_page.rs` compares the texts with the documentation.

/// Checks the help of a command and of all its subcommands at a width of 40 columns.
fn check_width(command: &[&str]) {
    for help in ["--help", "-h"] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_hindmost"))
            .args(command)
            .arg(help)
            .env("COLUMNS", "40")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("Usage: "), "{command:?} {help}");
        for line in text.lines() {
            assert!(line.chars().count() <= 40, "{command:?} {help}: {line}");
        }
    }
    let listed = crate::run(&[command, &["--help"]].concat()).stdout;
    let below = listed.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = below.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    for name in names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        check_width(&[command, &[name]].concat());
    }
}

#[test]
fn every_help_fits_into_forty_columns() {
    check_width(&[]);
}
