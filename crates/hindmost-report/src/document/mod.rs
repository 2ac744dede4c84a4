//! A document: what a result says, without markup. A result builds one document for all its forms, and leaves out what a form
//! does not show. There is one printer for each [`Form`]. Printers escape all text, and pages also shorten it, so that builders
//! pass names from logs and job files as they are.

mod markdown;
mod page;
mod terminal;
#[cfg(test)]
mod tests;

pub(crate) use page::Frame;

use crate::figures::Drawing;

/// What a document is printed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Text of a terminal, which has no pictures.
    Terminal,
    /// Markdown, which shows pictures from files.
    Markdown,
    /// A page of HTML, which contains its pictures.
    Page,
}

/// Text of one paragraph, cell or heading: parts with marks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text(Vec<Span>);

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
struct Span {
    text: String,
    mark: Mark,
}

/// What a part of a text is. A terminal shows none of the marks.
#[derive(Clone, Debug, PartialEq)]
enum Mark {
    Plain,
    Strong,
    Code,
    /// Good, bad or unimportant; only pages show it.
    Tone(Tone),
    /// A link to a page, or to a place in a page.
    Link(String),
    /// A place to which links lead; only pages have it.
    Place(String),
    /// A small line below the text before it; only pages have it.
    Line,
    /// A small picture; only pages have it.
    Drawing(Box<Drawing>),
}

/// How good something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Neutral,
    Bad,
    Unimportant,
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::default().plain(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::default().plain(text)
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Text {
        Text::default().plain(text)
    }
}

impl Text {
    fn with(mut self, mark: Mark, text: impl Into<String>) -> Text {
        let text = text.into();
        if !text.is_empty() || matches!(mark, Mark::Drawing(_)) {
            self.0.push(Span { text, mark });
        }
        self
    }

    pub(crate) fn plain(self, text: impl Into<String>) -> Text {
        self.with(Mark::Plain, text)
    }

    pub(crate) fn strong(self, text: impl Into<String>) -> Text {
        self.with(Mark::Strong, text)
    }

    pub(crate) fn code(self, text: impl Into<String>) -> Text {
        self.with(Mark::Code, text)
    }

    pub(crate) fn toned(self, tone: Tone, text: impl Into<String>) -> Text {
        self.with(Mark::Tone(tone), text)
    }

    /// Adds a link to a file, such as `figure-2.html`, to a place in a file, or to a place in the same page, such as `#claim-1`.
    pub(crate) fn link(self, to: impl Into<String>, text: impl Into<String>) -> Text {
        self.with(Mark::Link(to.into()), text)
    }

    pub(crate) fn place(self, name: impl Into<String>, text: impl Into<String>) -> Text {
        self.with(Mark::Place(name.into()), text)
    }

    pub(crate) fn line(self, text: impl Into<String>) -> Text {
        self.with(Mark::Line, text)
    }

    pub(crate) fn drawing(self, drawing: Drawing) -> Text {
        self.with(Mark::Drawing(Box::new(drawing)), "")
    }

    pub(crate) fn and(mut self, more: Text) -> Text {
        self.0.extend(more.0);
        self
    }

    /// Returns the text without marks.
    pub(crate) fn unmarked(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }
}

/// What a paragraph is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Usual,
    /// A sentence beside others. A terminal indents its lines but the first.
    Finding,
    /// The answer to the question of the document.
    Answer,
    /// An explanation of what is above it.
    Note,
    /// Something that is easily overlooked.
    Small,
    /// A warning, indented as a finding.
    Caution,
    Failure,
    /// The words of somebody else.
    Quote,
}

/// How a page shows a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    #[default]
    Usual,
    /// Narrow screens show each row as a paragraph. This suits tables of text.
    Stacked,
    /// A stacked table of claims, whose names are sentences.
    Claims,
    /// The claims at the beginning of a page, with still wider names.
    Headline,
    /// Narrow columns of signs.
    Matrix,
}

/// A table. The first cell of a row is its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    /// Says what the table shows; empty if its heading does.
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Text>>,
    pub(crate) layout: Layout,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) heading: Text,
    /// What a list shows in place of the heading, if the output is too narrow for the table; empty for nothing.
    pub(crate) label: String,
    /// What a page explains the heading with; empty for nothing.
    pub(crate) tip: String,
    /// True if the cells are text, false if they are numbers.
    pub(crate) is_text: bool,
}

impl Column {
    /// Creates a column. If its heading ends with `:`, which is not shown, its cells are text.
    pub(crate) fn new(heading: &str) -> Column {
        let (shown, is_text) = heading.strip_suffix(':').map_or((heading, false), |shown| (shown, true));
        Column { heading: shown.into(), label: shown.to_owned(), tip: String::new(), is_text }
    }
}

impl Table {
    /// Creates a table without rows, with [`Column::new`] for each heading.
    pub(crate) fn new(caption: impl Into<String>, headings: &[&str]) -> Table {
        let columns = headings.iter().map(|heading| Column::new(heading)).collect();
        Table { caption: caption.into(), columns, ..Table::default() }
    }

    /// Creates a table with the columns of a table of a terminal, and `names`, the heading of the column of names, before them.
    pub(crate) fn of_columns<'a, T: 'a>(
        caption: impl Into<String>,
        names: &str,
        columns: &[crate::table::Column<T>],
        rows: impl IntoIterator<Item = (String, &'a T)>,
    ) -> Table {
        let mut table = Table::new(caption, &[names]);
        table.columns.extend(columns.iter().map(|column| Column::new(&column.heading.replace('\n', " "))));
        let cells = |row: &'a T| columns.iter().map(move |column| (column.cell)(row));
        table.with_rows(rows.into_iter().map(|(name, row)| std::iter::once(name).chain(cells(row)).collect::<Vec<_>>()))
    }

    pub(crate) fn laid_out(self, layout: Layout) -> Table {
        Table { layout, ..self }
    }

    /// Adds a row.
    pub(crate) fn row<T: Into<Text>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Returns the table with these rows.
    pub(crate) fn with_rows<T: Into<Text>, R: IntoIterator<Item = T>>(
        mut self,
        rows: impl IntoIterator<Item = R>,
    ) -> Table {
        rows.into_iter().for_each(|cells| self.row(cells));
        self
    }
}

/// A picture with its caption.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picture {
    pub(crate) drawing: Drawing,
    /// The picture for wide screens and paper; `None` if they show `drawing`, too.
    pub(crate) wide: Option<Drawing>,
    /// Path of the picture's file, relative to the Markdown; empty if the document is no Markdown.
    pub(crate) file: String,
    pub(crate) caption: String,
}

impl Picture {
    /// Creates a picture of a page.
    pub(crate) fn new(drawing: Drawing, caption: impl Into<String>) -> Picture {
        Picture { drawing, wide: None, file: String::new(), caption: caption.into() }
    }
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
enum Block {
    Heading {
        level: u8,
        place: String,
        text: Text,
    },
    Paragraph(Role, Text),
    List(Vec<Text>),
    /// The attempts of a task in each item; many small ones.
    Attempts(Vec<Text>),
    /// Names with their values or descriptions.
    Facts(Vec<(Text, Text)>),
    /// Names with lines below each.
    Entries(Vec<(Text, Vec<Text>)>),
    Table(Table),
    Picture(Picture),
    /// Pictures beside each other.
    Pictures(Vec<Picture>),
    /// A summary, and what it hides until it is clicked.
    Details(Text, Vec<Block>),
    /// Commands, or a part of a file.
    Code(String),
    /// Parts that wide pages show beside each other.
    Beside(Beside, Vec<Vec<Block>>),
    /// Text of a terminal that is laid out already.
    LaidOut(String),
    /// An empty line of a terminal.
    Gap,
}

/// What is beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// A picture, and what it leads to.
    Sections,
    /// Pictures of one job, with lists.
    Pictures,
}

/// What a result says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    form: Form,
    blocks: Vec<Block>,
}

impl Document {
    pub(crate) fn new(form: Form) -> Document {
        Document { form, blocks: Vec::new() }
    }

    /// Returns what the document is printed as.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    pub(crate) fn heading(&mut self, level: u8, text: impl Into<Text>) {
        self.heading_at(level, "", text);
    }

    /// Adds a heading to which links lead.
    pub(crate) fn heading_at(&mut self, level: u8, place: &str, text: impl Into<Text>) {
        self.blocks.push(Block::Heading { level, place: place.to_owned(), text: text.into() });
    }

    /// Adds a paragraph; none if it is empty.
    pub(crate) fn paragraph(&mut self, text: impl Into<Text>) {
        self.paragraph_as(Role::Usual, text);
    }

    /// Adds a paragraph with this role; none if it is empty.
    pub(crate) fn paragraph_as(&mut self, role: Role, text: impl Into<Text>) {
        let text = text.into();
        if !text.0.is_empty() {
            self.blocks.push(Block::Paragraph(role, text));
        }
    }

    pub(crate) fn paragraphs<T: Into<Text>>(&mut self, role: Role, texts: impl IntoIterator<Item = T>) {
        texts.into_iter().for_each(|text| self.paragraph_as(role, text));
    }

    /// Adds a list; none if it is empty.
    pub(crate) fn list<T: Into<Text>>(&mut self, items: impl IntoIterator<Item = T>) {
        let items: Vec<Text> = items.into_iter().map(Into::into).collect();
        if !items.is_empty() {
            self.blocks.push(Block::List(items));
        }
    }

    /// Adds a list of attempts.
    pub(crate) fn attempts(&mut self, items: Vec<Text>) {
        self.blocks.push(Block::Attempts(items));
    }

    /// Adds names with their values; nothing if there are none.
    pub(crate) fn facts<N: Into<Text>, V: Into<Text>>(&mut self, facts: impl IntoIterator<Item = (N, V)>) {
        let facts: Vec<(Text, Text)> = facts.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        if !facts.is_empty() {
            self.blocks.push(Block::Facts(facts));
        }
    }

    /// Adds a name with lines below it.
    pub(crate) fn entry<T: Into<Text>>(&mut self, name: impl Into<Text>, lines: impl IntoIterator<Item = T>) {
        let entry = (name.into(), lines.into_iter().map(Into::into).collect());
        match self.blocks.last_mut() {
            Some(Block::Entries(entries)) => entries.push(entry),
            _ => self.blocks.push(Block::Entries(vec![entry])),
        }
    }

    /// Adds a table; none if it has no rows.
    pub(crate) fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }

    pub(crate) fn picture(&mut self, picture: Picture) {
        self.blocks.push(Block::Picture(picture));
    }

    /// Adds pictures beside each other; nothing if there are none.
    pub(crate) fn pictures(&mut self, pictures: Vec<Picture>) {
        if !pictures.is_empty() {
            self.blocks.push(Block::Pictures(pictures));
        }
    }

    /// Adds what `inside` builds, below a summary that hides it until it is clicked; nothing if it builds nothing.
    pub(crate) fn details(&mut self, summary: impl Into<Text>, inside: impl FnOnce(&mut Document)) {
        let hidden = self.part(inside);
        if !hidden.is_empty() {
            self.blocks.push(Block::Details(summary.into(), hidden));
        }
    }

    /// Adds commands or a part of a file; nothing if it is empty.
    pub(crate) fn code(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.blocks.push(Block::Code(text));
        }
    }

    /// Adds a part for each item; a wide page shows the parts beside each other.
    pub(crate) fn beside<T>(
        &mut self,
        how: Beside,
        items: impl IntoIterator<Item = T>,
        mut inside: impl FnMut(&mut Document, T),
    ) {
        let parts = items.into_iter().map(|item| self.part(|part| inside(part, item)));
        let parts: Vec<Vec<Block>> = parts.filter(|part| !part.is_empty()).collect();
        self.blocks.push(Block::Beside(how, parts));
    }

    /// Adds text of a terminal that is laid out already, and safe.
    pub(crate) fn laid_out(&mut self, text: String) {
        self.blocks.push(Block::LaidOut(text));
    }

    /// Adds an empty line of a terminal.
    pub(crate) fn gap(&mut self) {
        self.blocks.push(Block::Gap);
    }

    fn part(&self, inside: impl FnOnce(&mut Document)) -> Vec<Block> {
        let mut part = Document::new(self.form);
        inside(&mut part);
        part.blocks
    }
}
