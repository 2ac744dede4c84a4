//! What arguments of programs mean.

/// Returns the words that are no options.
pub(super) fn operands(arguments: &[String]) -> Vec<&String> {
    let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    let before = arguments[..end].iter().filter(|word| !word.starts_with('-') || word.len() == 1);
    before.chain(arguments.iter().skip(end + 1)).collect()
}

/// True if a script of `sed` writes files by its command `w`, or by that flag of `s`.
pub(super) fn writes_by_sed(word: &str) -> bool {
    !word.starts_with('-')
        && word.split([';', '\n', '{', '}']).any(|command| {
            let command = command.trim_end();
            command.split_once("w ").is_some_and(|(before, name)| {
                let before = before.trim_start();
                let is_address = before.is_empty() || before.ends_with(|sign: char| "/0123456789$!,|# ".contains(sign));
                is_address && !name.trim().is_empty() && !name.contains('/')
                    || before.ends_with("/g") && !name.is_empty()
            })
        })
}

/// True if a statement of SQL is a query. Several could do anything.
pub(super) fn only_reads(statement: &str) -> bool {
    let statement = statement.trim().trim_end_matches(';');
    statement.get(..6).is_some_and(|begin| begin.eq_ignore_ascii_case("select")) && !statement.contains(';')
}

/// Returns true if what follows `print` or `printf` in awk goes to a file or to another command.
pub(super) fn prints_to(rest: &str) -> bool {
    let mut in_text = false;
    let mut depth = 0_u32;
    let mut signs = rest.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' if in_text => _ = signs.next(),
            '"' => in_text = !in_text,
            '(' if !in_text => depth += 1,
            ')' if !in_text => depth = depth.saturating_sub(1),
            '|' if !in_text && depth == 0 && signs.peek() != Some(&'|') => return true,
            '|' if !in_text => _ = signs.next(),
            '>' if !in_text && depth == 0 => {
                let to: String = signs.clone().filter(|sign| !sign.is_whitespace()).take(14).collect();
                return !["\"/dev/stderr\"", "\"/dev/stdout\""]
                    .iter()
                    .any(|standard| standard.starts_with(&to) || to.starts_with(standard));
            }
            _ => {}
        }
    }
    false
}

/// Returns the short options of `tar`. The first word may be options without a hyphen.
pub(super) fn tar_letters(arguments: &[String]) -> String {
    let is_bundle =
        |at: usize, word: &str| word.starts_with('-') && !word.starts_with("--") || at == 0 && !word.starts_with('-');
    let bundles = arguments.iter().enumerate().filter(|(at, word)| is_bundle(*at, word));
    bundles.map(|(_, word)| word.trim_start_matches('-')).collect()
}

/// True if `tar` makes a new archive.
pub(super) fn creates(arguments: &[String]) -> bool {
    tar_letters(arguments).contains('c') || arguments.iter().any(|word| word == "--create")
}

/// Returns the word after one of these options.
pub(super) fn value_of(arguments: &[String], options: &[&str]) -> Option<String> {
    let at = arguments.iter().position(|word| options.contains(&word.as_str()))?;
    arguments.get(at + 1).cloned()
}

/// Returns the rest of a word that begins with an option and its value.
pub(super) fn joined(arguments: &[String], option: &str) -> Option<String> {
    let rest = arguments.iter().find_map(|word| word.strip_prefix(option))?;
    Some(rest.to_owned()).filter(|rest| !rest.is_empty())
}

/// Returns true if a word is one or more short options with this letter.
pub(super) fn is_flag(word: &str, letter: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word[1..].contains(letter)
}

/// Returns true if a word is `-i`, or short options with `i` before one that takes a text, such as `-lpi.bak`.
pub(super) fn is_in_place(word: &str) -> bool {
    let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else { return false };
    letters.split(['e', 'E', 'f', 'F', 'M', 'm', 'I']).next().is_some_and(|before| before.contains('i'))
}

/// Returns true if a word is an option that mounts a folder or file into a container, where it can be written.
pub(super) fn mounts(word: &str) -> bool {
    ["-v", "--volume", "--mount"].iter().any(|option| word.starts_with(option)) && word != "--version"
}
