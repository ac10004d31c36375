//! Feeds that name their collection.

use feedsync_core::Format;
use feedsync_formats::{AppCategories, AppCollection, FeedHead, FeedWriter};

use crate::support::reread;

const APP: &str = "http://www.w3.org/2007/app";
const ATOM: &str = "http://www.w3.org/2005/Atom";

fn collection() -> AppCollection {
    AppCollection {
        href: "http://hub/collections/notes?a&b".to_owned(),
        title: "Notes & <more>".to_owned(),
        accept: ["application/atom+xml;type=entry", "image/*"].map(str::to_owned).into(),
        categories: Some(AppCategories { fixed: true, ..AppCategories::default() }),
    }
}

fn written(mut writer: FeedWriter) -> String {
    let head = FeedHead {
        id: "urn:x:feed",
        title: "T",
        updated: "2005-05-21T11:43:33Z".parse().unwrap(),
        author: "A",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: None,
    };
    let mut out = String::new();
    writer.begin(&mut out, &head);
    writer.end(&mut out);
    out
}

#[test]
fn an_atom_feed_names_its_collection_and_what_it_accepts() {
    let text = written(FeedWriter::new(Format::Atom).of_collection(&collection()));
    let document = roxmltree::Document::parse(&text).unwrap();
    let named: Vec<_> = document
        .root_element()
        .children()
        .filter(|child| child.has_tag_name((APP, "collection")))
        .collect();
    let [named] = named[..] else { panic!("{text}") };
    let texts = |name| -> Vec<_> {
        named
            .children()
            .filter(|child| child.has_tag_name(name))
            .map(|child| child.text())
            .collect()
    };
    assert_eq!(named.attribute("href"), Some("http://hub/collections/notes?a&b"));
    assert_eq!(texts((ATOM, "title")), [Some("Notes & <more>")]);
    let accepted = [Some("application/atom+xml;type=entry"), Some("image/*")];
    assert_eq!(texts((APP, "accept")), accepted);
    let categories = named.children().find(|child| child.has_tag_name((APP, "categories")));
    assert_eq!(categories.unwrap().attribute("fixed"), Some("yes"));
    assert!(reread(Format::Atom, &text).items.is_empty());
}

#[test]
fn feeds_in_formats_other_than_atom_name_no_collection() {
    for format in Format::ALL {
        let plain = written(FeedWriter::new(format));
        let named = written(FeedWriter::new(format).of_collection(&collection()));
        assert_eq!(plain == named, format != Format::Atom, "{named}");
    }
}
