//! What the states of a table mean, where the user says so.

use std::fmt;
use std::str::FromStr;

use crate::recording::Ended;
use crate::tasks::row::{UnknownState, state};

/// Meanings of states, and how an attempt with such a state has ended; `None` if it has not.
const MEANINGS: [(&str, Option<Ended>); 4] = [
    ("succeeded", Some(Ended::Succeeded)),
    ("failed", Some(Ended::Failed)),
    ("killed", Some(Ended::Killed)),
    ("running", None),
];

/// What the states of a table mean, as in `succeeded=GREEN,failed=RED,failed=AMBER`. Upper and lower case are the same. They come before
/// the words that are known without it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct States {
    meanings: Vec<(String, Option<Ended>)>,
    /// What the user wrote.
    text: String,
}

impl fmt::Display for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl States {
    /// Returns how an attempt with this state has ended, by the user or else by the words that tools use; `None` if it has not ended.
    ///
    /// # Errors
    /// If the word is not known.
    pub(crate) fn ended(&self, word: &str) -> Result<Option<Ended>, UnknownState> {
        self.named(word).map_or_else(|| state(word), |(_, ended)| Ok(*ended))
    }

    /// Whether the user says what a state means.
    pub(crate) fn names(&self, word: &str) -> bool {
        self.named(word).is_some()
    }

    fn named(&self, word: &str) -> Option<&(String, Option<Ended>)> {
        self.meanings.iter().find(|(state, _)| state.eq_ignore_ascii_case(word.trim()))
    }
}

impl FromStr for States {
    type Err = String;

    fn from_str(text: &str) -> Result<States, String> {
        let mut states = States { text: text.to_owned(), ..States::default() };
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (meaning, word) = part
                .split_once('=')
                .ok_or_else(|| format!("{part:?} is no state: expected MEANING=STATE, such as failed=RED"))?;
            let (meaning, word) = (meaning.trim(), word.trim());
            let Some((_, ended)) = MEANINGS.iter().find(|(name, _)| name.eq_ignore_ascii_case(meaning)) else {
                let names = MEANINGS.map(|(name, _)| name).join(", ");
                return Err(format!("{meaning:?} is no meaning of a state; there are {names}"));
            };
            match states.named(word) {
                Some((_, other)) if other != ended => return Err(format!("the state {word:?} has two meanings")),
                Some(_) => {}
                None => states.meanings.push((word.to_owned(), *ended)),
            }
        }
        Ok(states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_the_meanings_that_the_user_gives() {
        let states: States = "failed=RED, failed = amber,succeeded=3,running=gone home".parse().unwrap();
        let ended = |word| states.ended(word);
        assert_eq!([ended("red"), ended(" Amber ")], [Ok(Some(Ended::Failed)); 2]);
        assert_eq!((ended("3"), ended("Gone home")), (Ok(Some(Ended::Succeeded)), Ok(None)));
        // Words that the user does not name.
        assert_eq!((ended("done"), ended("green")), (Ok(Some(Ended::Succeeded)), Err(UnknownState)));
    }

    #[test]
    fn wrong_states_are_named() {
        let error = |text: &str| text.parse::<States>().unwrap_err();
        assert!(error("RED").contains("MEANING=STATE"));
        assert!(error("bad=RED").contains("there are succeeded, failed, killed, running"));
        assert!(error("failed=RED,killed=red").contains("two meanings"));
    }
}
