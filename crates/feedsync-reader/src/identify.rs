//! The ids of the articles of a feed, the same on every device that reads the same document (R7).
//!
//! An article is what its feed calls it: `atom:id` or `guid`, else its link, else a hash of what it says. Feeds
//! that call several articles of one document alike are common; such a name is extended by a hash of what
//! tells them apart: the link, else the title, else the content. What says the same of all that is one
//! article, told twice.
//!
//! What one document cannot tell is not told. A feed that gives a name again after the article that had it is
//! gone means the old article. And where one of two that share a name leaves the document, the other has the
//! plain name from then on, and is a new article.

use std::collections::HashMap;

use feedsync_formats::Entry;

use crate::article::{ArticleId, hash};

/// The ids of all entries of one document of a feed, in their order.
pub fn identify(entries: &[Entry]) -> Vec<ArticleId> {
    let names: Vec<String> = entries.iter().map(name).collect();
    let mut named: HashMap<&str, usize> = HashMap::new();
    let mut linked: HashMap<(&str, &str), usize> = HashMap::new();
    for (entry, name) in entries.iter().zip(&names) {
        *named.entry(name).or_default() += 1;
        *linked.entry((name, link(entry))).or_default() += 1;
    }
    let id = |(entry, name): (&Entry, &String)| {
        let (name, link) = (name.as_str(), link(entry));
        if named[name] == 1 {
            return ArticleId::of(name);
        }
        let distinction = match (linked[&(name, link)], title(entry)) {
            (1, _) => hash(&["link", link]),
            (_, "") => hash(&["content", link, content(entry)]),
            (_, title) => hash(&["title", link, title]),
        };
        ArticleId::of(&format!("{name}#{}", &distinction[..16]))
    };
    // No name is empty, so each entry has an id.
    entries.iter().zip(&names).filter_map(id).collect()
}

/// What the feed calls an entry.
fn name(entry: &Entry) -> String {
    let said = [entry.id.as_deref().unwrap_or_default(), link(entry)];
    match said.into_iter().find(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => format!("sha256:{}", hash(&[title(entry), content(entry)])),
    }
}

fn link(entry: &Entry) -> &str {
    entry.link().unwrap_or_default()
}

fn title(entry: &Entry) -> &str {
    entry.title.as_deref().unwrap_or_default()
}

fn content(entry: &Entry) -> &str {
    entry.content.as_deref().or(entry.summary.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use feedsync_formats::Link;
    use proptest::prelude::*;

    use super::*;

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
        identify(&entries).iter().map(ArticleId::to_string).collect()
    }

    #[test]
    fn an_article_is_what_its_feed_calls_it_else_its_link_else_what_it_says() {
        let found = ids(&[
            ("urn:1", "http://a/1", "A", "x"),
            ("", "http://a/2", "B", "y"),
            ("", "", "C", "z"),
        ]);
        assert_eq!(found[..2], ["urn:1", "http://a/2"]);
        assert_eq!(found[2], format!("sha256:{}", hash(&["C", "z"])));
    }

    #[test]
    fn articles_that_share_a_name_are_told_apart() {
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
    fn who_is_told_apart_by_its_link_keeps_its_id_when_it_is_edited() {
        let before = ids(&[("g", "http://a/1", "A", "x"), ("g", "http://a/2", "A", "x")]);
        let after = ids(&[("g", "http://a/2", "B", "y"), ("g", "http://a/1", "A", "x")]);
        assert_eq!(before[1], after[0]);
    }

    #[test]
    fn an_article_told_twice_is_one() {
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
        fn the_order_of_a_document_says_nothing(
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
}
