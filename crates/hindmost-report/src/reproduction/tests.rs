//! Tests of the Markdown, the text and the pictures of a reproduction.

use hindmost_claims::{Cell, DataTable, Factor, Measured, Part, Plot, PlotShape, Reading, Reproduction, StatedBy};

use super::example::example;
use super::forest::{forest, forest_caption};
use super::matrix::search_sentences;
use super::plots::drawn;
use super::wording::{as_text, claim_table};
use super::*;
use crate::figures::HOSTILE;
use crate::markup::check;

fn markdown(reproduction: &Reproduction, file: &str) -> String {
    markdown_pages(reproduction).into_iter().find(|page| page.file == file).expect("no such page").text
}

#[test]
fn each_figure_has_a_page_of_markdown() {
    let pages: Vec<String> = markdown_pages(&example()).into_iter().map(|page| page.file).collect();
    assert_eq!(pages, ["xu2015.md", "xu2015/figure-2.md", "xu2015/figure-3.md"]);
    let files: Vec<String> = pictures(&example()).into_iter().map(|picture| picture.file).collect();
    assert_eq!(files, ["forest.svg", "figure-2-1.svg"]);
}

#[test]
fn the_first_page_answers_before_it_lists() {
    let text = markdown(&example(), "xu2015.md");
    let mut at = 0;
    for part in [
        "# xu2015 reproduced\n\nXu & Lau, A title, 2015.\n\n**The headline holds for SCA, but not for SDA.**\n\nSCA needs",
        "## Claims of the abstract and the headline",
        "| [1](xu2015/figure-2.md#fig2-sca-flowtime) | SCA reduces the mean flowtime by nearly 60% against Mantri, at about twice its \
         resource usage (Abstract, IV-C) | ✗ mean flowtime of SCA compared with Mantri: −52% [−53, −51]; mean \
         resource usage of SCA compared with Mantri: 101% [100, 102] | ✓ mean flowtime of SCA compared with Mantri: −59% \
         [−60.5, −57.5]; mean resource usage of SCA compared with Mantri: 66% [64.5, 67.5] | reproduced under 1 of 4 \
         readings that differ in it |",
        "![Claims of the abstract and the headline: claimed and measured](xu2015/forest.svg)",
        "The values under the best joint reading are those on fresh seeds.",
        "## What decides it",
        "Details that the paper leaves out change the value of this claim: SCA reduces",
        "| Detail | Base reading | Lowest | Highest | Swing |",
        "| knowledge | −52% | −61% (oracle) | −33% (age) | 28 percentage points |",
        "5 claims: 4 were tested, 1 of them by formulas without simulation; 1 was not run, and the reason is given. \
         Of 4 tested claims, 1 holds under every reading that was run, 2 under some readings or in some cases, and 1 \
         under none.",
        "Made by `hindmost reproduce xu2015`",
        "It takes about 12 minutes on two cores. Seeds: 1 to 3. The claims of the abstract and the headline under \
         the base reading: seeds 1 to 20. The same claims under the best joint reading: fresh seeds 101 to 103,",
        "## All tested claims",
        "| [2](xu2015/figure-2.md#fig2-sda-flowtime) | fig2-sda-flowtime | SDA reduces the mean flowtime by nearly 60% \
         against Mantri (Abstract) | ✗ −37% [−38, −36] | ✗ −42% [−43, −41] | −42% to 9.5% | not reproduced |",
        "| [4](xu2015/figure-3.md#sigma) | sigma | The optimal σ is 1.707 (V-C, Eq. 27) | ✓ 1.71 mean durations \
         (analysis, α = 2) | – |  | reproduced |",
        "## Claims that were not run",
        "| [5](xu2015/figure-3.md#trace) | trace | The makespan is 18% lower (6.3) | The trace is not public |",
        "- **base** (base reading): What base assumes",
        "This reading has the same results as base: fair.",
    ] {
        let found = text[at..].find(part).unwrap_or_else(|| panic!("{part}\n{text}"));
        at += found + part.len();
    }
    assert!(!text.contains("**fair**"), "{text}");
}

#[test]
fn the_first_page_ends_with_the_matrix() {
    let text = markdown(&example(), "xu2015.md");
    let (_, matrix) = text.split_once("## Which claims hold together\n\n").unwrap();
    for part in [
        "Best joint reading: oracle. Under it, 1 of 3 simulated claims hold together. 5 readings were searched, and 4 of \
         them have different results. Its mean distance from the published numbers of the paper's baseline is 4.5 of what \
         the rules allow; under the base reading it is 4.7.",
        "1.25 claims would hold under the best reading on average, and at most 2 in 95% of such draws. The result is \
         within what searching alone may explain.",
        "Calibrated reading: age. Of all readings, it comes closest to the 1 published number of the paper's baseline \
         (mean error 0.5 of what the rules allow, where each number counts at most 5).",
        "Claims: 1 fig2-sca-flowtime, 2 fig2-sda-flowtime, 3 fig2-mantri-80.",
        "| Reading | Hold | Baseline error | 1 | 2 | 3 |\n| --- | --- | --- | --- | --- | --- |\n\
         | base (base reading) | 0 of 3 | 4.7 | ✗ | ✗ | ✗ |\n\
         | oracle (best joint reading) | 1 of 3 | 4.5 | ✓ | ✗ | ✗ |\n\
         | age (calibrated reading) | 1 of 3 | 0.5 | ✗ | ✗ | ✓ |\n\
         | late | 0 of 3 | 1.85 | ✗ | ✗ | ✗ |\n",
    ] {
        assert!(matrix.contains(part), "{part}\n{matrix}");
    }
    assert!(matrix.ends_with("✗ |\n"), "{matrix}");
}

#[test]
fn factors_of_several_claims_name_them() {
    let mut example = example();
    let other = Factor { claim: "fig2-sda-flowtime".to_owned(), ..example.factors[0].clone() };
    example.factors.push(other);
    let page = markdown(&example, "xu2015.md");
    for part in
        ["| Detail | Claim | Base reading |", "| knowledge | SDA reduces the mean flowtime by nearly 60% against"]
    {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let text = text(&example, 200);
    assert!(text.contains("SDA reduces the mean flowtime by nearly 60% against Mantri: −61% (oracle) to"), "{text}");
}

#[test]
fn the_first_screen_shows_ten_factors_and_names_the_others() {
    let mut example = example();
    let factor = example.factors[0].clone();
    for at in 0..12 {
        example.factors.push(Factor {
            name: format!("detail {at:02}"),
            high: factor.low + 12.0 - f64::from(at),
            ..factor.clone()
        });
    }
    let sentence = "These change the values by at most 3 percentage points: detail 09; detail 10; detail 11.";
    let page = markdown(&example, "xu2015.md");
    assert!(page.contains("| detail 08 |") && !page.contains("| detail 09 |"), "{page}");
    assert!(page.contains(sentence), "{page}");
    assert!(text(&example, 200).contains(sentence));
    let report = &html_pages(&example, false, &[])[0].text;
    assert!(report.contains(sentence), "{report}");
    for factor in &mut example.factors[10..] {
        factor.high = factor.low;
    }
    assert!(markdown(&example, "xu2015.md").contains("These change nothing: detail 09; detail 10; detail 11."));
}

#[test]
fn readings_with_the_same_values_are_named_in_a_line() {
    let mut example = example();
    let claim = &mut example.figures[0].claims[0];
    let first = claim.readings[0].clone();
    let names: Vec<String> = claim.readings.iter().skip(1).map(|one| one.reading.clone()).collect();
    for part in std::iter::once(&mut claim.readings).chain(claim.also.iter_mut().map(|part| &mut part.readings)) {
        let same = part[0].clone();
        for measured in part.iter_mut().skip(1) {
            *measured = Measured { reading: measured.reading.clone(), ..same.clone() };
        }
    }
    let shown = claim_table(&example, &example.figures[0].claims[0]);
    assert_eq!((shown.rows.len(), shown.rows[0][0].as_str()), (1, first.reading.as_str()));
    let [line] = &shown.same[..] else { panic!("{:?}", shown.same) };
    assert!(line.starts_with(&format!("The same values as under {}: ", first.reading)), "{line}");
    let repeats = |name: &String| example.readings.iter().any(|it| it.name == *name && it.same_as.is_some());
    assert!(names.iter().all(|name| line.contains(name.as_str()) || repeats(name)), "{line}");
    let page = markdown(&example, &format!("xu2015/{}.md", figure_slugs(&example)[0]));
    assert!(page.contains(line.as_str()), "{page}");
}

#[test]
fn chance_explains_more_if_fewer_claims_hold() {
    let mut example = example();
    let mut conclusion = |holds| {
        example.search.as_mut().unwrap().holds = holds;
        search_sentences(&example)[1].clone()
    };
    assert!(conclusion(2).ends_with("The result is within what searching alone may explain."));
    assert!(conclusion(3).contains("More claims hold than that."));
    example.search = None;
    assert!(search_sentences(&example).is_empty());
}

#[test]
fn pages_of_figures_have_parts_points_and_tables() {
    let text = markdown(&example(), "xu2015/figure-2.md");
    for part in [
        "A part of [xu2015 reproduced](../xu2015.md).",
        "![Jobs by flowtime](figure-2-1.svg)",
        "Mantri 80% at 17 (measured 80% at 8.25, −8.75; 96% at 17, +16 percentage points); SCA 80% at 6 (measured 80% at \
         4.44, −1.56; 92% at 6, +12 percentage points).",
        "<a id=\"fig2-sca-flowtime\"></a>\n\n## 1. SCA reduces",
        "> SCA reduces the mean flowtime by nearly 60%",
        "**Reproduced under 1 of 4 readings that differ in it**. Rule: from −65% to −55%; and mean resource usage of SCA compared with \
         Mantri at most 110%. The rule allows 5 percentage points \\| more is another claim.",
        "Under the best joint reading on fresh seeds: ✓ mean flowtime of SCA compared with Mantri: −59%",
        "| reading | mean flowtime of SCA compared with Mantri | mean resource usage of SCA compared with Mantri | all \
         rules hold |",
        "| age | ✗ −33% [−34, −32] | ✗ 130% [129, 131] | no |",
        "**Not reproduced**: measured −42%",
        "Rule: from 15 to 19 time units. The claim is about the paper's baseline.",
        "The same values as under base: fair.",
        "Base: seeds 1 to 20; the other readings: seeds 1 to 3.",
        "| Mantri | flowtime | 80% at 17 | base | 8.25 | −8.75 | 96% | +16 |",
        "<summary>Numbers &lt; 3</summary>",
        "| σ | \\|c\\| |\n| --- | ---: |\n| no backup | – |",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("| fair |"), "{text}");
    let text = markdown(&example(), "xu2015/figure-3.md");
    assert!(text.contains("## 5. The makespan is 18% lower (6.3)\n\n**Not run**: the trace is not public."), "{text}");
}

#[test]
fn claims_that_do_not_count_are_marked() {
    let mut reproduction = example();
    let claims = &mut reproduction.figures[0].claims;
    (claims[1].stated_by, claims[1].in_abstract) = (StatedBy::Reading, false);
    claims[2].is_slip = true;
    let main = markdown(&reproduction, "xu2015.md");
    for part in [
        "Of 2 tested claims, ",
        "Not among them: 1 statement that is a reading of the paper's words (fig2-sda-flowtime); and 1 slip of the \
         paper (fig2-mantri-80).",
        "(not counted: a reading of the paper's words) |",
        "(not counted: a slip of the paper) |",
    ] {
        assert!(main.contains(part), "{part}: {main}");
    }
    let figure = markdown(&reproduction, "xu2015/figure-2.md");
    assert!(figure.contains("The statement is Hindmost's reading of the paper's words, so it does not count."));
    assert!(figure.contains("Other numbers of the paper contradict the statement, so it does not count."));
}

#[test]
fn half_an_interval_follows_its_value_in_one_cell() {
    let columns = ["load", "flowtime", "± flowtime", "copies"].map(str::to_owned).to_vec();
    let rows = vec![
        vec![Cell::from(1.0), Cell::from(12.5), Cell::from(0.5), Cell::from(3.0)],
        vec![Cell::from(2.0), Cell::from(20.0), Cell::from(f64::NAN), Cell::from("none")],
        vec![Cell::from(3.0), Cell::from(-1.59e-5), Cell::from(0.0643), Cell::from(1e-7)],
    ];
    let mut example = example();
    example.figures[1].tables.push(DataTable::new("Numbers", columns, rows));
    let table = "| load | flowtime ± | copies |\n| --- | ---: | ---: |\n| 1 | 12.5 ± 0.5 | 3 |\n| 2 | 20 | none |\n\
         | 3 | 0 ± 0.0643 | \\< 0.0001 |\n";
    let text = markdown(&example, "xu2015/figure-3.md");
    assert!(text.contains(table), "{text}");
}

#[test]
fn text_fits_the_terminal() {
    for width in [30, 60, 80, 120] {
        let text = text(&example(), width);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "The headline holds for SCA, but not for SDA. SCA needs",
            "What decides it Details that",
            "- knowledge −61% (oracle) to −33% (age), a swing of 28 percentage points; base reading −52%",
            "hindmost reproduce xu2015. It takes about 12 minutes",
            "oracle (best joint reading): What oracle assumes",
            "Best joint reading: oracle.",
        ] {
            assert!(words.contains(part), "{width} {part}: {text}");
        }
        let answer = words.find("The headline holds").unwrap();
        assert!(answer < words.find("Claims of the abstract and the headline").unwrap(), "{text}");
        for value in ["−52%", "−59%", "✓"] {
            assert!(text.contains(value), "{width} {value}: {text}");
        }
        let fits = |line: &str| crate::text::columns(line) <= usize::from(width);
        assert!(text.lines().all(fits), "{width}: {text}");
    }
    let narrow = text(&example(), 60);
    let words = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("✗ mean flowtime of SCA compared with Mantri: −52%"), "{narrow}");
    assert!(words.contains("not run: the trace is not public"), "{narrow}");
}

#[test]
fn a_small_text_is_unchanged() {
    insta::assert_snapshot!(text(&example(), 100));
}

/// Returns a reproduction in which all texts are `text`.
pub(crate) fn hostile(text: &str) -> Reproduction {
    let mut example = example();
    let all = |texts: &mut Vec<String>| texts.iter_mut().for_each(|one| *one = text.to_owned());
    for field in [&mut example.paper, &mut example.title, &mut example.command] {
        *field = text.to_owned();
    }
    all(&mut example.answer);
    all(&mut example.notes);
    for reading in &mut example.readings {
        reading.description = text.to_owned();
    }
    let rename = |name: &mut String| {
        if name == "oracle" {
            *name = text.to_owned();
        }
    };
    let renamed = |readings: &mut Vec<Measured>| {
        for measured in readings {
            rename(&mut measured.reading);
            (measured.value, measured.unit) = (text.to_owned(), text.to_owned());
        }
    };
    example.readings.iter_mut().for_each(|reading| rename(&mut reading.name));
    let same = Reading { name: text.to_owned(), same_as: Some(text.to_owned()), ..example.readings[0].clone() };
    example.readings.push(same);
    rename(&mut example.search.as_mut().unwrap().best);
    let factor = &mut example.factors[0];
    for field in [&mut factor.name, &mut factor.low_reading, &mut factor.unit] {
        *field = text.to_owned();
    }
    for figure in &mut example.figures {
        for field in [&mut figure.id, &mut figure.name, &mut figure.about] {
            *field = text.to_owned();
        }
        for claim in &mut figure.claims {
            for field in [&mut claim.id, &mut claim.claimed, &mut claim.quote, &mut claim.section, &mut claim.comment] {
                *field = text.to_owned();
            }
            renamed(&mut claim.readings);
            renamed(&mut claim.confirmed);
            claim.also.iter_mut().for_each(|part: &mut Part| renamed(&mut part.readings));
        }
        let drawn = figure.tables.iter_mut().filter_map(|table| table.plot.as_mut());
        for point in figure.points.iter_mut().chain(drawn.flat_map(|plot| &mut plot.stated)) {
            (point.curve, point.quantity, point.reading) = (text.to_owned(), text.to_owned(), text.to_owned());
        }
        for table in &mut figure.tables {
            table.caption = text.to_owned();
            table.columns[0] = text.to_owned();
            table.rows.iter_mut().for_each(|row| row[0] = Cell::from(text));
            if let Some(plot) = &mut table.plot {
                for field in [&mut plot.title, &mut plot.x, &mut plot.y] {
                    *field = text.to_owned();
                }
            }
        }
        figure.tables.push(by_column(text));
    }
    example
}

fn by_column(text: &str) -> DataTable {
    let plot = Plot {
        title: text.to_owned(),
        x: text.to_owned(),
        y: text.to_owned(),
        shape: PlotShape::Columns,
        curves: Vec::new(),
        rows: None,
        stated: Vec::new(),
    };
    let columns = ["σ", text, "±"].map(str::to_owned).to_vec();
    let rows = vec![
        vec![Cell::from(1.0), Cell::from(2.0), Cell::from(0.5)],
        vec![Cell::from(2.0), Cell::from(3.0), Cell::from(f64::NAN)],
        vec![Cell::from(text), Cell::from(2.5), Cell::from(0.5)],
    ];
    DataTable { plot: Some(plot), ..DataTable::new(text, columns, rows) }
}

#[test]
fn hostile_names_stay_text_in_files_and_terminals() {
    for name in HOSTILE {
        let reproduction = hostile(name);
        let mut files: Vec<String> = markdown_pages(&reproduction).into_iter().map(|page| page.file).collect();
        files.extend(pictures(&reproduction).into_iter().map(|picture| picture.file));
        for file in &files {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "-/.".contains(letter);
            assert!(file.chars().all(plain) && !file.contains("..") && !file.starts_with('/'), "{file}");
        }
        files.sort_unstable();
        assert!(files.windows(2).all(|pair| pair[0] != pair[1]), "{files:?}");
        for picture in pictures(&reproduction) {
            check(&picture.drawing.standalone());
        }
        for width in [20, 80, 120] {
            let text = text(&reproduction, width);
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']), "{text}");
        }
        for page in markdown_pages(&reproduction) {
            // The command is code, in which Markdown interprets no markup.
            let text = page.text.replace("\\<", "").replace(&format!("`hindmost {name}`"), "");
            assert!(!text.contains("<script") && !text.contains("<img"), "{}", page.text);
        }
    }
}

#[test]
fn points_are_drawn_on_the_curves_for_which_they_were_measured() {
    let table = example().figures[0].tables[0].clone();
    let svg = drawn(&table).unwrap().standalone();
    let elements = check(&svg);
    let rings = elements.iter().filter(|one| one.get("class").is_some_and(|class| class.starts_with("hm-ring")));
    assert_eq!(rings.count(), 2);
    assert!(svg.contains("Mantri: 80% at 17 (measured 80% at 8.25, −8.75;"), "{svg}");
    assert!(svg.contains("stated in the paper&#39;s text"), "{svg}");
    // A curve that is not drawn has no points.
    let mut table = table;
    table.plot.as_mut().unwrap().curves = vec!["SCA".to_owned()];
    let other = drawn(&table).unwrap().standalone();
    assert!(other.contains("SCA: 80% at 6") && !other.contains("Mantri"), "{other}");
    table.plot.as_mut().unwrap().stated.clear();
    assert!(!drawn(&table).unwrap().standalone().contains("stated in the paper"));
}

#[test]
fn given_values_keep_small_numbers() {
    let numbers = [0.0, 1e-6, 5e-5, -5e-5, 1e-3, 20.0];
    let rows = numbers.map(|number| vec![Cell::from(number), Cell::from(number)]).to_vec();
    let table = DataTable::new("By ε", vec!["ε".to_owned(), "change".to_owned()], rows);
    let (_, shown) = as_text(&table);
    let given: Vec<&str> = shown.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(given, ["0", "1·10^−6", "5·10^−5", "−5·10^−5", "0.001", "20"]);
    assert_eq!(shown[1][1], "< 0.0001");
}

#[test]
fn the_forest_has_the_abstract_then_the_headline_claims() {
    let reproduction = example();
    let picture = forest(&reproduction).unwrap().standalone();
    for part in [
        "and mean resource usage of SCA compared with Mantri",
        "claimed: −65% to −55%",
        "Under the base reading (base): −52% [−53, −51], the rule does not hold",
        "Best joint reading (oracle): −59% [−60.5, −57.5], the rule holds",
        "over all readings: −61% to −33%",
        ">−42%<",
    ] {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    assert!(
        forest_caption(&reproduction).contains("The values under the best joint reading are those on fresh seeds.")
    );
    // No other claim has a number in per cent.
    assert!(!picture.contains("time units"), "{picture}");
    let mut others = example();
    others.figures[0].claims.iter_mut().for_each(|claim| claim.in_abstract = false);
    let picture = forest(&others).unwrap().standalone();
    assert!(picture.contains("SCA reduces") && picture.contains("SDA reduces"), "{picture}");
    assert!(
        forest_caption(&others).contains("Of the claims shown, 2 are neither in the abstract nor in the headline.")
    );
    others.figures.clear();
    assert_eq!(forest(&others), None);
    assert!(markdown(&others, "xu2015.md").starts_with("# xu2015 reproduced"));
}

#[test]
fn the_forest_has_a_panel_for_each_unit() {
    let mut reproduction = example();
    for figure in &mut reproduction.figures {
        figure.claims.iter_mut().for_each(|claim| claim.in_abstract = true);
    }
    let picture = forest(&reproduction).unwrap().standalone();
    for part in [
        ">measured value (%)<",
        ">measured value (time units)<",
        ">measured value (mean durations)<",
        "Under another reading (analysis, α = 2): 1.71 mean durations, the rule holds",
    ] {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    let caption = forest_caption(&reproduction);
    assert!(
        caption.ends_with("Not drawn, because there is no value in some case: 1 claim of the abstract."),
        "{caption}"
    );
}
