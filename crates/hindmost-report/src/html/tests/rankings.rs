//! Tests of the page of a ranking.

use super::sound;
use crate::figures::HOSTILE;
use crate::ranking::html_page;
use crate::ranking::tests::example;

#[test]
fn the_page_is_sound_and_has_all_tables() {
    let page = html_page(&example("late"), &[]);
    let elements = sound(&page);
    // Who is first of one group, over all worlds the only kind, what policies know, and one world.
    assert_eq!(elements.iter().filter(|element| element.name == "table").count(), 4);
    assert_eq!(elements.iter().filter(|element| element.name == "svg").count(), 2);
    assert!(page.contains("late is first."), "{page}");
    for name in HOSTILE {
        sound(&html_page(&example(name), &[]));
    }
}
