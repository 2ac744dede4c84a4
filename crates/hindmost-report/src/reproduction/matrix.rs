//! The matrix of readings and claims, and what was found by searching the readings.

use hindmost_claims::{Reading, Reproduction, Search, Status, number_text};

use super::wording::seeds;

/// Which claims hold under which readings. Only simulated claims have a column.
pub(crate) struct Matrix {
    /// Numbers and ids of the claims: claims are counted from 1 in the order of the paper.
    pub(crate) claims: Vec<(usize, String)>,
    /// A sentence that names the columns that do not count in [`Row::holds`]; empty if all count.
    pub(crate) not_counted: String,
    /// The base reading, then the others, those with the most claims that hold first.
    pub(crate) rows: Vec<Row>,
    /// Whether the readings have errors of the paper's baseline.
    pub(crate) has_errors: bool,
}

/// A reading with the claims that hold under it.
pub(crate) struct Row {
    /// Name of the reading.
    pub(crate) reading: String,
    /// What the reading is: `base reading`, `best joint reading`, `calibrated reading`, or several of them.
    pub(crate) roles: Vec<&'static str>,
    /// Whether each claim holds; `None` if it was not measured.
    pub(crate) cells: Vec<Option<bool>>,
    /// Number of claims that hold, and number of claims that were measured.
    pub(crate) holds: [usize; 2],
    /// Error of the paper's baseline; a dash if there is none.
    pub(crate) baseline_error: String,
}

impl Row {
    /// Returns the name of the reading with what it is in brackets.
    pub(crate) fn name(&self) -> String {
        match self.roles.as_slice() {
            [] => self.reading.clone(),
            roles => format!("{} ({})", self.reading, roles.join(", ")),
        }
    }
}

/// Returns the matrix. Readings that have the same results as another one have no row.
pub(crate) fn matrix(reproduction: &Reproduction) -> Matrix {
    let all = reproduction.claims().map(|(_, claim)| claim);
    let simulated: Vec<_> =
        all.filter(|claim| claim.status == Status::Simulated && !claim.readings.is_empty()).collect();
    let base = reproduction.readings.first().map(|reading| reading.name.as_str());
    let calibrated = reproduction.search.as_ref().and_then(|search| search.calibrated.as_ref());
    let roles = |name: &str| {
        let role = |is: bool, role: &'static str| is.then_some(role);
        let best = reproduction.search.as_ref().is_some_and(|search| search.best == name);
        let roles = [
            role(base == Some(name), "base reading"),
            role(best, "best joint reading"),
            role(calibrated.is_some_and(|calibrated| calibrated.reading == name), "calibrated reading"),
        ];
        roles.into_iter().flatten().collect()
    };
    let row = |reading: &Reading| Row {
        reading: reading.name.clone(),
        roles: roles(&reading.name),
        cells: simulated.iter().map(|claim| claim.holds_under(&reading.name)).collect(),
        holds: [reading.holds, reading.of],
        baseline_error: reading.baseline_error.map_or_else(|| "–".to_owned(), number_text),
    };
    let distinct = || reproduction.readings.iter().filter(|reading| reading.same_as.is_none());
    let mut rows: Vec<Row> = distinct().map(row).filter(|row| row.cells.iter().any(Option::is_some)).collect();
    rows.sort_by_key(|row| (base != Some(row.reading.as_str()), std::cmp::Reverse(row.holds[0])));
    let left_out: Vec<String> =
        simulated.iter().filter(|claim| !claim.counts()).map(|claim| claim.number.to_string()).collect();
    let not_counted = match left_out.as_slice() {
        [] => String::new(),
        numbers => format!("Not counted, because they are readings of the paper's words: {}.", numbers.join(", ")),
    };
    Matrix {
        not_counted,
        claims: simulated.iter().map(|claim| (claim.number, claim.id.clone())).collect(),
        rows,
        has_errors: distinct().any(|reading| reading.baseline_error.is_some()),
    }
}

/// Fewer claims than this say nothing about a search.
const ENOUGH_CLAIMS: usize = 3;

/// Returns paragraphs about the search for the best joint reading: what was found, what chance explains, and the reading
/// that was chosen by the paper's baseline alone. Empty if there was no search.
pub(crate) fn search_sentences(reproduction: &Reproduction) -> Vec<String> {
    let Some(search) = &reproduction.search else { return Vec::new() };
    let mut found = format!(
        "Best joint reading: {}. Under it, {} of {} simulated claims hold together. {} readings were searched, and {} \
         of them have different results.",
        search.best, search.holds, search.of, search.searched, search.distinct
    );
    match search.equals.as_slice() {
        [] => {}
        equals => {
            found += &format!(
                " As many hold under {}; of equal readings, the one is taken under which most of the headline holds, then \
                 the one closest to the baseline's published numbers.",
                equals.join(", ")
            );
        }
    }
    let error = |name: Option<&str>| {
        let reading = reproduction.readings.iter().find(|reading| Some(reading.name.as_str()) == name);
        reading.and_then(|reading| reading.baseline_error)
    };
    let base = reproduction.readings.first().map(|base| base.name.as_str());
    if let Some((of_best, of_base)) = error(Some(&search.best)).zip(error(base)) {
        found += &format!(
            " Its mean distance from the published numbers of the paper's baseline is {} of what the rules allow; under \
             the base reading it is {}.",
            number_text(of_best),
            number_text(of_base)
        );
    }
    if !reproduction.fresh_seeds.is_empty() {
        found += &format!(
            " The claims of the abstract and the headline were measured again under it on fresh seeds ({}), because a reading \
             that was chosen for its results looks better than it is.",
            seeds(&reproduction.fresh_seeds)
        );
    }
    let mut paragraphs = vec![found];
    if search.of >= ENOUGH_CLAIMS {
        paragraphs.push(by_chance(search));
    }
    if let Some(calibrated) = &search.calibrated {
        let numbers = if calibrated.numbers == 1 { "number" } else { "numbers" };
        let mut text = format!(
            "Calibrated reading: {}. Of all readings, it comes closest to the {} published {numbers} of the paper's baseline \
             (mean error {} of what the rules allow, where each number counts at most 5). The claims about the paper's own \
             methods did not take part in choosing it, so they are predictions: {} of {} hold.",
            calibrated.reading,
            calibrated.numbers,
            number_text(calibrated.error),
            calibrated.holds,
            calibrated.of
        );
        if let Some([low, high]) = calibrated.equal_holds.filter(|_| !calibrated.equals.is_empty()) {
            let equals = calibrated.equals.join(", ");
            text += &format!(" As close: {equals}. Under these readings, from {low} to {high} hold.");
        }
        paragraphs.push(text);
    }
    paragraphs
}

/// Compares the number of claims that hold under the best joint reading with chance.
fn by_chance(search: &Search) -> String {
    let holds = search.holds as f64;
    let conclusion = if holds > search.by_chance_p95 {
        "More claims hold than that. Claims that say the same thing in other words count several times, and some readings \
         were made to fit, which this estimate leaves out."
    } else {
        "The result is within what searching alone may explain."
    };
    format!(
        "Correction for the search: if each claim held under as many readings as it does, but under readings chosen at \
         random, then {} claims would hold under the best reading on average, and at most {} in 95% of such draws. \
         {conclusion}",
        number_text(search.by_chance),
        number_text(search.by_chance_p95)
    )
}
