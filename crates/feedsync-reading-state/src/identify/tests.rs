//! Tests of identification within one document.

use feedsync_formats::Link;
use proptest::prelude::*;

use super::*;
use crate::article::hash;

fn entry((id, link, title, content): (&str, &str, &str, &str)) -> Entry {
    let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Entry {
        id: said(id),
        title: said(title),
        content: said(content),
        links: said(link).map(|link| Link::new("alternate", &link)).into_iter().collect(),
        ..Entry::default()
    }
}

fn ids(said: &[(&str, &str, &str, &str)]) -> Vec<String> {
    let entries: Vec<_> = said.iter().copied().map(entry).collect();
    identify(&entries, IdentificationState::default()).0.iter().map(ArticleId::to_string).collect()
}

#[test]
fn article_id_is_the_guid_else_the_link_else_a_hash() {
    let found =
        ids(&[("urn:1", "http://a/1", "A", "x"), ("", "http://a/2", "B", "y"), ("", "", "C", "z")]);
    assert_eq!(found[..2], ["urn:1", "http://a/2"]);
    assert_eq!(found[2], format!("sha256:{}", hash(&["C", "z"])));
}

#[test]
fn articles_that_share_a_name_have_distinct_ids() {
    for pair in [
        [("g", "http://a/1", "A", "x"), ("g", "http://a/2", "A", "x")],
        [("g", "http://a/", "A", "x"), ("g", "http://a/", "B", "x")],
        [("g", "", "A", "x"), ("g", "", "B", "x")],
        [("g", "", "", "x"), ("g", "", "", "y")],
        [("g", "http://a/1", "A", "x"), ("g", "", "A", "x")],
    ] {
        let found = ids(&pair);
        assert_ne!(found[0], found[1], "{pair:?}");
        assert!(found.iter().all(|id| id.starts_with("g#")), "{found:?}");
    }
}

#[test]
fn edited_article_with_a_shared_guid_keeps_its_id_by_its_link() {
    let before = ids(&[("g", "http://a/1", "A", "x"), ("g", "http://a/2", "A", "x")]);
    let after = ids(&[("g", "http://a/2", "B", "y"), ("g", "http://a/1", "A", "x")]);
    assert_eq!(before[1], after[0]);
}

#[test]
fn repeated_article_has_one_id() {
    let found = ids(&[("g", "http://a/1", "A", "x"), ("g", "http://a/1", "A", "edited")]);
    assert_eq!(found[0], found[1]);
}

#[test]
fn a_name_that_is_too_long_is_hashed() {
    let found = ids(&[(&"x".repeat(5_000), "", "A", "")]);
    assert!(found[0].starts_with("sha256:"), "{found:?}");
}

proptest! {
    /// Each entry has one id, whatever the order of the document.
    #[test]
    fn ids_do_not_depend_on_the_order_of_a_document(
        mut said in prop::collection::vec(("[ab]?", "[cd]?", "[ef]?", "[gh]?"), 0..6), turn in 0..6_usize,
    ) {
        let told = |said: &[(String, String, String, String)]| {
            let said: Vec<_> =
                said.iter().map(|(a, b, c, d)| (a.as_str(), b.as_str(), c.as_str(), d.as_str())).collect();
            ids(&said)
        };
        let mut before = told(&said);
        prop_assert_eq!(before.len(), said.len());
        let turn = turn.min(said.len());
        said.rotate_left(turn);
        before.rotate_left(turn);
        prop_assert_eq!(told(&said), before);
    }
}
