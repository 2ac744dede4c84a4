//! Columns of a table in a shell command: `{sample}` stands for the value of the column.
//!
//! The shell does not read values as part of the command: each `{NAME}` becomes a reference to the variable that holds the value,
//! in the quotes that its place needs. So every value is one text, whatever characters it has, and all tasks of the phase have one
//! command.

use hindmost_math::suggest::did_you_mean;

use super::matrix::is_variable;

/// Beginning of the names of the variables that hold the values of columns.
pub(super) const COLUMN_VARIABLE: &str = "HINDMOST_COLUMN_";

/// Where a place in a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Outside of quotes. Holds how many parentheses are open.
    Plain(u32),
    /// In double quotes, in an arithmetic expression or in a here-document, where variables need no quotes.
    Quoted(Ends),
    /// In single quotes; true for those after `$`, in which a backslash has a meaning.
    Literal(bool),
}

/// What ends a place in which variables need no quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Quote,
    /// Holds how many parentheses are open in the expression.
    Arithmetic(u32),
}

/// Returns a command of the Bourne shell in which each `{NAME}` of a column is a reference to its variable. `${NAME}` and
/// `\{NAME}` stay as they are.
///
/// # Errors
/// If another name stands in braces where it is probably meant as a column: outside of quotes, or in double quotes if it is close to the
/// name of a column. Holds this name.
pub(super) fn with_columns(command: &str, columns: &[String]) -> Result<String, String> {
    let mut out = String::with_capacity(command.len());
    let mut places = vec![Place::Plain(0)];
    // The ends of the here-documents that begin after this line, and whether their text has variables.
    let mut documents: Vec<(String, bool)> = Vec::new();
    let mut rest = command;
    let mut before = '\n';
    while let Some(next) = rest.chars().next() {
        let place = places.last().copied().unwrap_or(Place::Plain(0));
        if next == '{'
            && before != '$'
            && let Some(name) = column_at(rest, columns)
        {
            let variable = format!("${{{COLUMN_VARIABLE}{name}}}");
            match place {
                Place::Plain(_) => out.extend(["\"", &variable, "\""]),
                Place::Quoted(_) => out.push_str(&variable),
                Place::Literal(escapes) => out.extend(["'\"", &variable, "\"", if escapes { "$'" } else { "'" }]),
            }
            rest = &rest[name.len() + 2..];
            before = '}';
            continue;
        }
        if next == '{'
            && !matches!(before, '$' | '@')
            && let Some(name) = name_at(rest).filter(|name| !rest[name.len() + 2..].starts_with(['<', '>']))
        {
            let near = did_you_mean(name, columns.iter().map(String::as_str));
            if matches!(place, Place::Plain(_)) || matches!(place, Place::Quoted(_)) && !near.is_empty() {
                return Err(name.to_owned());
            }
        }
        let mut taken = next.len_utf8();
        match (place, next) {
            (Place::Literal(true) | Place::Plain(_) | Place::Quoted(_), '\\') => {
                taken += rest[1..].chars().next().map_or(0, char::len_utf8);
            }
            (Place::Literal(_), '\'') | (Place::Quoted(Ends::Quote), '"') => _ = places.pop(),
            (Place::Literal(_), _) => {}
            (Place::Quoted(Ends::Arithmetic(0)), ')') if rest.starts_with("))") => {
                places.pop();
                taken = 2;
            }
            (Place::Quoted(Ends::Arithmetic(open)), ')') => {
                set(&mut places, Place::Quoted(Ends::Arithmetic(open.saturating_sub(1))));
            }
            (Place::Quoted(Ends::Arithmetic(open)), '(') => set(&mut places, Place::Quoted(Ends::Arithmetic(open + 1))),
            (_, '$') if rest.starts_with("$((") => {
                places.push(Place::Quoted(Ends::Arithmetic(0)));
                taken = 3;
            }
            (_, '$') if rest.starts_with("$(") => {
                places.push(Place::Plain(0));
                taken = 2;
            }
            (Place::Plain(_), '\'') => places.push(Place::Literal(before == '$')),
            (Place::Plain(_), '"') => places.push(Place::Quoted(Ends::Quote)),
            (Place::Plain(open), '(') => set(&mut places, Place::Plain(open + 1)),
            (Place::Plain(0), ')') if places.len() > 1 => _ = places.pop(),
            (Place::Plain(open), ')') => set(&mut places, Place::Plain(open.saturating_sub(1))),
            (Place::Plain(_), '#') if before.is_whitespace() || ";&|(".contains(before) => {
                taken = rest.find('\n').unwrap_or(rest.len());
            }
            (Place::Plain(_), '<') if rest.starts_with("<<<") => taken = 3,
            (Place::Plain(_), '<') if rest.starts_with("<<") => {
                let (length, document) = document_at(rest);
                documents.extend(document);
                taken = length;
            }
            (Place::Plain(_), '\n') if !documents.is_empty() => {
                let (document, after) = rest.split_at(documents_length(rest, &documents));
                out.push_str(&in_documents(document, &std::mem::take(&mut documents), columns));
                rest = after;
                before = '\n';
                continue;
            }
            _ => {}
        }
        out.push_str(&rest[..taken]);
        before = rest[..taken].chars().next_back().unwrap_or(next);
        // A character after a backslash begins nothing.
        if next == '\\' && taken > 1 && place != Place::Literal(false) {
            before = '\\';
            if rest[1..].starts_with('\n') {
                before = '\n';
            }
        }
        rest = &rest[taken..];
    }
    Ok(out)
}

fn set(places: &mut [Place], place: Place) {
    if let Some(last) = places.last_mut() {
        *last = place;
    }
}

/// Returns the column whose name stands in braces at the begin of a text.
fn column_at<'a>(text: &'a str, columns: &[String]) -> Option<&'a str> {
    name_at(text).filter(|name| columns.iter().any(|column| column == name))
}

/// Returns the name of a variable that stands in braces at the begin of a text.
fn name_at(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.split_once('}').map(|(name, _)| name).filter(|name| is_variable(name))
}

/// Returns the length of the beginning of a here-document, and the word that ends it with whether the text has variables.
fn document_at(text: &str) -> (usize, Option<(String, bool)>) {
    let after = text[2..].trim_start_matches('-').trim_start_matches([' ', '\t']);
    let end = after.find(|c: char| c.is_whitespace() || ";&|<>()".contains(c)).unwrap_or(after.len());
    let word = &after[..end];
    let plain: String = word.chars().filter(|c| !"\"'\\".contains(*c)).collect();
    let length = text.len() - after.len() + end;
    if plain.is_empty() { (length, None) } else { (length, Some((plain.clone(), plain == word))) }
}

/// Returns the length of the line feed and of the here-documents after it.
fn documents_length(text: &str, documents: &[(String, bool)]) -> usize {
    let mut length = 1;
    for (end, _) in documents {
        for line in text[length..].split_inclusive('\n') {
            length += line.len();
            if line.trim_end_matches('\n').trim_start_matches('\t') == end {
                break;
            }
        }
    }
    length
}

/// Returns here-documents with references to variables in those that have any.
fn in_documents(text: &str, documents: &[(String, bool)], columns: &[String]) -> String {
    let mut documents = documents.iter();
    let mut document = documents.next();
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        match document {
            Some((_, true)) => {
                // As in double quotes, but quotes stand for themselves.
                let mut rest = line;
                while let Some(open) = rest.find('{') {
                    let (begin, from) = rest.split_at(open);
                    out.push_str(begin);
                    let name = column_at(from, columns).filter(|_| !begin.ends_with(['$', '\\']));
                    match name {
                        Some(name) => out.extend(["${", COLUMN_VARIABLE, name, "}"]),
                        None => out.push('{'),
                    }
                    rest = &from[name.map_or(1, |name| name.len() + 2)..];
                }
                out.push_str(rest);
            }
            _ => out.push_str(line),
        }
        if document.is_some_and(|(end, _)| line.trim_end_matches('\n').trim_start_matches('\t') == end) {
            document = documents.next();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const VALUE: &str = "a  b'c\"d$HOME`date`\\*";

    #[test]
    fn every_place_of_a_command_gets_the_value_as_one_text() {
        let columns = ["x".to_owned(), "n".to_owned()];
        for (command, expected) in [
            ("printf '<%s>' {x} z", format!("<{VALUE}><z>")),
            ("printf '<%s>' p/{x}.q", format!("<p/{VALUE}.q>")),
            ("printf '<%s>' \"p {x}\" 'it {x} is'", format!("<p {VALUE}><it {VALUE} is>")),
            ("printf '<%s>' \"$(printf %s {x})\" \"$(printf %s \"{x}\")\"", format!("<{VALUE}><{VALUE}>")),
            ("printf '<%s>' \"$( (printf %s a); printf %s {x})\" {x}", format!("<a{VALUE}><{VALUE}>")),
            // A comment with an apostrophe, and a number sign in a word.
            ("# don't {x}\nprintf '<%s>' a#'b' {x}", format!("<a#b><{VALUE}>")),
            ("echo $(( {n} + 1 )) $((({n}+1)*2)) $(( (1+({n})))) {n}", "4 8 4 3\n".to_owned()),
            ("cat <<EOF; printf '<%s>' {n}\nit's {x}\nEOF", format!("it's {VALUE}\n<3>")),
            ("cat <<'EOF'\n{x}\nEOF\nprintf '<%s>' {x}", format!("{{x}}\n<{VALUE}>")),
            ("cat <<-A; cat << B\n\t{n}\n\tA\n{n}{n}\nB\nprintf %s {n}", "3\n33\n3".to_owned()),
            // What is no column of the table, or has a meaning for the shell, stays.
            ("x=1; printf '<%s>' \"${x}\" \\{x} '{y}' '{ x }'", "<1><{x}><{y}><{ x }>".to_owned()),
            ("printf '<%s>' \\' {x} \\\" {x}", format!("<'><{VALUE}><\"><{VALUE}>")),
            ("case {n} in (3) echo a;; esac; case {n} in 3) echo {n};; esac", "a\n3\n".to_owned()),
            ("set -- {x}; echo $#", "1\n".to_owned()),
        ] {
            let shown = with_columns(command, &columns).unwrap();
            let variables = [("HINDMOST_COLUMN_x", VALUE), ("HINDMOST_COLUMN_n", "3")];
            let ran = Command::new("sh").args(["-c", &shown]).envs(variables).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{command}\n{shown}");
        }
    }

    #[test]
    fn commands_without_columns_stay_as_they_are() {
        let columns = ["sample".to_owned()];
        for command in
            ["awk '{n += $1} END {print n}' x", "echo {a,b} ${sample} $(( 1 + 2 )) \"$(ls)\"", "é '", "{", "\\", "<<"]
        {
            assert_eq!(with_columns(command, &columns).unwrap(), command);
        }
    }

    #[test]
    fn names_that_are_no_columns_are_refused_where_columns_stand() {
        let columns = ["sample".to_owned(), "lane".to_owned()];
        for command in ["echo {condition} {sample}", "echo \"{sampel}.bam\"", "cat x/{smaple}.fq > {lane}"] {
            let name = with_columns(command, &columns).unwrap_err();
            assert!(command.contains(&format!("{{{name}}}")) && !columns.contains(&name), "{name}");
        }
    }
}
