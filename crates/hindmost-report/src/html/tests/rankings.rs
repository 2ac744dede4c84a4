//! Tests of the page of a ranking.

use super::sound;
use crate::figures::HOSTILE;
use crate::html::ranking_page;
use crate::ranking::tests::example;

#[test]
fn the_page_is_sound_and_has_all_tables() {
    let page = ranking_page(&example("late"), &[]).unwrap();
    let elements = sound(&page);
    // Who is first of one group, over all worlds three kinds, what policies know, and one world.
    assert_eq!(elements.iter().filter(|element| element.name == "table").count(), 6);
    assert_eq!(elements.iter().filter(|element| element.name == "svg").count(), 2);
    assert!(page.contains("late is first."), "{page}");
    for name in HOSTILE {
        sound(&ranking_page(&example(name), &[]).unwrap());
    }
}
