//! Tests of the pages of reproductions.

use hindmost_claims::{Claim, Measured, Reading};

use super::sound;
use crate::html::Step;
use crate::reproduction::example::example;
use crate::reproduction::{Page, html_pages};

fn pages(several: bool) -> Vec<Page> {
    let again = [Step { text: "So:".to_owned(), code: "hindmost reproduce xu2015 --out DIR".to_owned() }];
    html_pages(&example(), several, &again)
}

#[test]
fn links_lead_to_pages_and_anchors_that_exist() {
    for several in [false, true] {
        let pages = pages(several);
        let mut targets = Vec::new();
        for page in &pages {
            targets.push(page.file.clone());
            let ids = sound(&page.text).into_iter().filter_map(|element| element.get("id").map(str::to_owned));
            targets.extend(ids.map(|id| format!("{}#{id}", page.file)));
        }
        let mut links = 0;
        for page in &pages {
            for element in sound(&page.text).iter().filter(|element| element.name == "a") {
                let link = element.get("href").unwrap();
                let target = if link.starts_with('#') { format!("{}{link}", page.file) } else { link.to_owned() };
                assert!(targets.contains(&target), "{link} in {}: {targets:?}", page.file);
                links += 1;
            }
        }
        assert!(links > 10, "{links}");
    }
}

#[test]
fn pages_of_several_papers_have_different_names() {
    let names = |several| pages(several).into_iter().map(|page| page.file).collect::<Vec<_>>();
    assert_eq!(names(false), ["report.html", "figure-2.html", "figure-3.html"]);
    assert_eq!(names(true), ["xu2015.html", "xu2015-figure-2.html", "xu2015-figure-3.html"]);
}

#[test]
fn reports_answer_before_they_list() {
    let page = &pages(false)[0].text;
    let mut at = 0;
    for part in [
        "<p class=\"answer\"><b>The headline holds for SCA, but not for SDA.</b></p>",
        "<h2>Claims of the abstract and the headline</h2>",
        "<a href=\"figure-2.html#fig2-sca-flowtime\">SCA reduces",
        "<span class=\"bad\">✗</span> mean flowtime of SCA compared with Mantri: −52% [−53, −51]; mean resource",
        "<span class=\"good\">✓</span> mean flowtime of SCA compared with Mantri: −59% [−60.5, −57.5]",
        "Reproduced under 1 of 4 readings that differ in it",
        "Claims of the abstract and the headline: claimed and measured",
        "5 claims: 4 were tested",
        "<pre>hindmost reproduce xu2015</pre>",
        "It takes about 12 minutes",
        "<h2>What decides it</h2>",
        "−33% (age)",
        "28 percentage points",
        "<h2>All tested claims</h2>",
        "rule: from −65% to −55%",
        "range: −61% to −33%",
        "<h2>Claims that were not run</h2>",
        ">The trace is not public<",
        "<dt>base (base reading)</dt>",
        "This reading has the same results as base: fair.",
        "Best joint reading: oracle.",
        "Correction for the search",
        "Calibrated reading: age.",
        "<th scope=\"col\" title=\"fig2-mantri-80\"><a href=\"#claim-3\">3</a></th>",
        "<bdi>oracle (best joint reading)</bdi></th><td>1 of 3</td><td>4.5</td><td class=\"good\">✓</td>",
        "hindmost reproduce xu2015 --out DIR",
    ] {
        let found = page[at..].find(part).unwrap_or_else(|| panic!("{part}\n{page}"));
        at += found + part.len();
    }
}

#[test]
fn pages_of_figures_have_points_and_all_readings() {
    let pages = pages(false);
    for part in [
        "<a href=\"report.html\">xu2015 reproduced</a> · <a href=\"figure-3.html\">Figure 3</a>",
        "Mantri 80% at 17 (measured 80% at 8.25, −8.75; 96% at 17,",
        "<h2 id=\"fig2-sca-flowtime\">1. SCA reduces",
        "“SCA reduces the mean flowtime by nearly 60%”",
        "Under the best joint reading on fresh seeds: <span class=\"good\">✓</span> mean flowtime of SCA compared with Mantri: −59%",
        "Measured under 5 readings",
        "✗ 130% [129, 131]",
        "Points that the paper&#39;s text states",
        "<td>96%</td><td>+16</td>",
    ] {
        assert!(pages[1].text.contains(part), "{part}\n{}", pages[1].text);
    }
    assert!(pages[2].text.contains("<span class=\"soft\">Not run</span>: the trace is not public."));
    // A claim without values has no table.
    assert!(!pages[2].text.contains("Measured under 0"), "{}", pages[2].text);
}

#[test]
fn reports_with_many_readings_stay_small() {
    let mut many = example();
    let original = many.readings[1].clone();
    many.readings.extend((0..200).map(|at| Reading { name: format!("reading {at}"), ..original.clone() }));
    let claims = &mut many.figures[0].claims;
    for claim in &mut *claims {
        let one = claim.readings[1].clone();
        let of = |at: i32| Measured { reading: format!("reading {at}"), mean: Some(at.into()), ..one.clone() };
        claim.readings.extend((0..200).map(of));
    }
    let claim = claims[1].clone();
    let more = |at: usize| Claim { id: format!("claim-{at}"), number: 100 + at, in_abstract: false, ..claim.clone() };
    claims.extend((0..50).map(more));
    let pages = html_pages(&many, false, &[]);
    sound(&pages[0].text);
    let (_, row) = pages[0].text.split_once("claim-49</span>").unwrap();
    let (row, _) = row.split_once("</tr>").unwrap();
    // The smallest and the largest value, and those of the base and of the best joint reading.
    for part in ["reading 199: 199%", "base: −37%", "oracle: −42%"] {
        assert!(row.contains(part), "{part}: {row}");
    }
    assert!(row.matches("<title>").count() < 30, "{row}");
}
