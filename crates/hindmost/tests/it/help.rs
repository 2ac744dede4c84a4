//! The list of policies as a snapshot, completions and manual pages. `command_line_page.rs` checks the help texts.

use crate::run;

#[test]
fn the_list_of_policies_is_as_recorded() {
    insta::assert_snapshot!("policies", run(&["policies"]).stdout);
}

#[test]
fn completions_and_manual_pages_are_made() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = run(&["completions", shell]);
        assert_eq!(ran.code, Some(0));
        assert!(ran.stdout.contains("simulate"), "{shell}");
    }
    let page = run(&["man", "simulate"]);
    assert!(page.stdout.contains(".TH"), "{}", page.stdout);
    let wrong = run(&["man", "simulat"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("did you mean \"simulate\"?"), "{}", wrong.stderr);
}
