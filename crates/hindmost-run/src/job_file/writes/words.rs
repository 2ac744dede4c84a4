//! Splits the text of a shell command into words, redirections and ends of simple commands.
//!
//! This is no shell: variables are not replaced and nothing is checked. What it can't read, it takes for words.

/// A part of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A word without its quotes. Variables stay as they are written.
    Word(String),
    /// A redirection for writing, and the word after it.
    WritesTo(String),
    /// A redirection that adds to a file or changes it, and the word after it.
    AddsTo(String),
    /// The end of a simple command: `;`, `|`, `&`, `&&`, `||`, a line feed, `{`, `}` or a word such as `then`.
    End,
    /// `(`.
    Open,
    /// `)`.
    Close,
    /// A redirection for reading, and the word after it.
    Reads(String),
    /// The text of a command substitution `$(…)`, or of a process substitution such as `>(…)`.
    Nested(String),
    /// The shell replaces a part of the word after this by what is not known here: names of files, the output of a command.
    Expands,
    /// The word after this, or the redirection if the second value is true, has the value of this variable in it; `None` if the
    /// shell calculates the value.
    Uses(Option<String>, bool),
}

/// Words after which a command begins.
const RESERVED: [&str; 12] = ["{", "}", "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!"];

/// Variables to which the shell gives other values while it runs.
const CALCULATED: [&str; 8] =
    ["RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "BASHPID", "LINENO", "OLDPWD"];

/// Splits a command.
pub(super) fn parts(command: &str) -> Vec<Part> {
    let mut reader = Reader { text: command.chars().collect(), at: 0, parts: Vec::new(), documents: Vec::new() };
    reader.read();
    reader.parts
}

struct Reader {
    text: Vec<char>,
    at: usize,
    parts: Vec<Part>,
    /// The ends of the here-documents whose text begins after this line, and whether leading tabs do not count.
    documents: Vec<(String, bool)>,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn begins_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, expected)| self.peek(ahead) == Some(expected))
    }

    fn read(&mut self) {
        while let Some(next) = self.peek(0) {
            match next {
                '\n' => {
                    self.at += 1;
                    self.parts.push(Part::End);
                    self.skip_documents();
                }
                ' ' | '\t' | '\r' => self.at += 1,
                '#' => {
                    while self.peek(0).is_some_and(|next| next != '\n') {
                        self.at += 1;
                    }
                }
                '(' if self.begins_with("((") => self.skip_until("))"),
                '(' => self.push(Part::Open, 1),
                ')' => self.close(),
                '&' if self.begins_with("&>") => self.redirection(2),
                ';' | '|' | '&' => self.push(Part::End, 1),
                '>' | '<' => self.redirection(0),
                _ => self.word(),
            }
        }
    }

    fn close(&mut self) {
        let opened = self.parts.iter().filter(|part| **part == Part::Open).count();
        let closed = self.parts.iter().filter(|part| **part == Part::Close).count();
        // What stands before the parenthesis in `case` is compared with a word and names no file.
        if closed >= opened
            && let [.., Part::Expands, Part::Word(_)] = &self.parts[..]
        {
            self.parts.remove(self.parts.len() - 2);
        }
        self.push(Part::Close, 1);
    }

    fn push(&mut self, part: Part, length: usize) {
        self.at += length;
        self.parts.push(part);
    }

    /// Goes on after the next occurrence of a text.
    fn skip_until(&mut self, end: &str) {
        while self.at < self.text.len() && !self.begins_with(end) {
            self.at += 1;
        }
        self.at = (self.at + end.len()).min(self.text.len());
    }

    fn skip_documents(&mut self) {
        for (end, strips_tabs) in std::mem::take(&mut self.documents) {
            loop {
                let line: String = self.text.iter().skip(self.at).take_while(|next| **next != '\n').collect();
                self.at = (self.at + line.chars().count() + 1).min(self.text.len());
                let line = if strips_tabs { line.trim_start_matches('\t') } else { &line };
                if line == end || self.at >= self.text.len() {
                    break;
                }
            }
        }
    }

    /// Reads a redirection. `from` is the number of characters before its sign that belong to it.
    fn redirection(&mut self, from: usize) {
        self.at += from.saturating_sub(1);
        let writes = self.peek(0) == Some('>');
        if self.begins_with("<(") || self.begins_with(">(") {
            self.at += 2;
            let nested = self.until_closed();
            // It stands for the name of a pipe.
            self.parts.extend([Part::Word("/dev/fd/63".to_owned()), Part::Nested(nested)]);
            return;
        }
        if self.begins_with("<<<") {
            self.at += 3;
            self.target();
            return;
        }
        if self.begins_with("<<") {
            self.at += 2;
            let strips_tabs = self.peek(0) == Some('-');
            self.at += usize::from(strips_tabs);
            if let Some(end) = self.target() {
                self.documents.push((end, strips_tabs));
            }
            return;
        }
        let opens_for_both = self.begins_with("<>");
        let adds = opens_for_both || self.begins_with(">>");
        self.at += 1;
        while self.peek(0).is_some_and(|next| matches!(next, '>' | '|')) {
            self.at += 1;
        }
        // `2>&1` writes to what is open already, `>&file` to a file.
        let duplicates = self.peek(0) == Some('&');
        self.at += usize::from(duplicates);
        let Some(target) = self.target() else { return };
        let is_number = target.trim_end_matches('-').chars().all(|digit| digit.is_ascii_digit());
        if duplicates && is_number {
            return;
        }
        self.parts.push(match (writes || opens_for_both, adds) {
            (true, true) => Part::AddsTo(target),
            (true, false) => Part::WritesTo(target),
            (false, _) => Part::Reads(target),
        });
    }

    /// Reads the word after a redirection.
    fn target(&mut self) -> Option<String> {
        while self.peek(0).is_some_and(|next| matches!(next, ' ' | '\t')) {
            self.at += 1;
        }
        let before = self.parts.len();
        if self.peek(0) == Some('>') && self.peek(1) == Some('(') {
            self.redirection(0);
        } else {
            self.word();
        }
        let read: Vec<Part> = self.parts.drain(before..).collect();
        let mut word = None;
        for part in read {
            match part {
                Part::Word(text) => word = Some(text),
                Part::Uses(name, _) => self.parts.push(Part::Uses(name, true)),
                other => self.parts.push(other),
            }
        }
        word
    }

    /// Reads a word, unless another sign stands here.
    fn word(&mut self) {
        let (mut word, mut nested, mut is_quoted) = (String::new(), Vec::new(), false);
        let (begin, mut expands, mut braces) = (self.at, self.peek(0) == Some('~'), None);
        let mut uses = Vec::new();
        while let Some(next) = self.peek(0) {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '|' | '&' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    self.at += 1;
                    if let Some(escaped) = self.peek(0) {
                        self.at += 1;
                        word.extend((escaped != '\n').then_some(escaped));
                    }
                }
                '\'' => {
                    is_quoted = true;
                    self.at += 1;
                    let from = self.at;
                    self.skip_until("'");
                    word.extend(&self.text[from..self.at.saturating_sub(1).max(from)]);
                }
                '"' => {
                    is_quoted = true;
                    self.at += 1;
                    while let Some(next) = self.peek(0).filter(|next| *next != '"') {
                        expands |= self.begins_unknown(&mut uses);
                        self.in_quotes(next, &mut word, &mut nested);
                    }
                    self.at += 1;
                }
                _ => {
                    expands |=
                        self.begins_unknown(&mut uses) || matches!(next, '*' | '?' | '[') && !word.ends_with('$');
                    if next == '{' && !word.ends_with('$') {
                        braces = Some(word.len());
                    } else if next == '}'
                        && let Some(from) = braces.take()
                    {
                        let inner = word.get(from..).unwrap_or_default();
                        expands |= inner.contains(',') || inner.contains("..");
                    }
                    self.in_quotes(next, &mut word, &mut nested);
                }
            }
        }
        // The number of a file before a redirection, as in `2>`, is no word.
        let is_number = !word.is_empty() && word.chars().all(|digit| digit.is_ascii_digit());
        if is_number && self.peek(0).is_some_and(|next| matches!(next, '<' | '>')) {
            return;
        }
        // Other words than braces are reserved only where a command begins: `mv x done` names a folder.
        let of_command =
            self.parts.iter().rev().take_while(|part| !matches!(part, Part::End | Part::Open | Part::Close));
        let is_operand =
            !matches!(word.as_str(), "{" | "}") && of_command.into_iter().any(|part| matches!(part, Part::Word(_)));
        if !is_quoted && !is_operand && RESERVED.contains(&word.as_str()) {
            self.parts.push(Part::End);
        } else if !is_quoted && word == "[[" {
            self.skip_until("]]");
        } else if self.at > begin {
            // The test `[` is a program.
            if expands && word != "[" {
                self.parts.push(Part::Expands);
            }
            self.parts.extend(uses.into_iter().map(|name| Part::Uses(name, false)));
            self.parts.push(Part::Word(word));
        } else {
            // A sign that begins no word here.
            self.at += 1;
        }
        self.at = self.at.min(self.text.len());
        self.parts.extend(nested.into_iter().map(Part::Nested));
    }

    /// True if a substitution begins here whose value is not known before the command begins. Adds a variable that begins here to
    /// `uses`, or `None` if the shell calculates a value.
    fn begins_unknown(&self, uses: &mut Vec<Option<String>>) -> bool {
        if self.peek(0) == Some('`') {
            return true;
        }
        if self.peek(0) != Some('$') {
            return false;
        }
        if self.begins_with("$((") {
            uses.push(None);
            return false;
        }
        if self.peek(1) == Some('(') {
            // A new temporary file has a name that nobody else uses.
            let text: String =
                self.text.iter().skip(self.at + 2).skip_while(|sign| sign.is_whitespace()).take(6).collect();
            return text != "mktemp";
        }
        let is_braced = self.peek(1) == Some('{');
        let from = self.at + 1 + usize::from(is_braced);
        let is_name = |sign: &&char| sign.is_ascii_alphanumeric() || **sign == '_';
        let name: String = self.text.iter().skip(from).take_while(is_name).collect();
        let is_whole = !is_braced || self.text.get(from + name.len()) == Some(&'}');
        if name.is_empty() || name.starts_with(|sign: char| sign.is_ascii_digit()) || !is_whole {
            // `$?`, and a dollar that begins nothing, name no file.
            return is_braced || !name.is_empty() || self.text.get(from).is_some_and(|sign| "@*#$!-".contains(*sign));
        }
        uses.push((!CALCULATED.contains(&name.as_str())).then_some(name));
        false
    }

    /// Reads a sign that may stand in double quotes, or the substitution that it begins.
    fn in_quotes(&mut self, next: char, word: &mut String, nested: &mut Vec<String>) {
        if self.begins_with("$((") {
            self.skip_until("))");
            word.push_str("$((…))");
        } else if self.begins_with("$(") {
            self.at += 2;
            let text = self.until_closed();
            word.push_str("$(");
            word.push_str(&text);
            word.push(')');
            nested.push(text);
        } else if next == '`' {
            self.at += 1;
            let from = self.at;
            self.skip_until("`");
            let text: String = self.text[from..self.at.saturating_sub(1).max(from)].iter().collect();
            word.push_str("$(");
            word.push_str(&text);
            word.push(')');
            nested.push(text);
        } else if next == '\\' {
            self.at += 1;
            word.extend(self.peek(0));
            self.at += 1;
        } else {
            word.push(next);
            self.at += 1;
        }
    }

    /// Returns the text until the parenthesis that closes the one before it, and goes on after that.
    fn until_closed(&mut self) -> String {
        let (from, mut depth) = (self.at, 1);
        while let Some(next) = self.peek(0) {
            match next {
                '\'' => {
                    self.at += 1;
                    self.skip_until("'");
                    continue;
                }
                '\\' => self.at += 1,
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
        let end = self.at.min(self.text.len());
        self.text[from..end.saturating_sub(usize::from(depth == 0)).max(from)].iter().collect()
    }
}
