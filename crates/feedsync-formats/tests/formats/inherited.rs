//! Inherited properties are bounded: a document costs no more than its own bytes, for any number of items and any
//! length of their base.

use feedsync_formats::{ReadOptions, read, read_plain, sse};

const ATOM: &str = "http://www.w3.org/2005/Atom";
const FEEDSYNC: &str = "http://feedsync.org/2007/feedsync";

/// Number of bytes that the items inherit.
const LONG: usize = 100_000;

const ITEMS: usize = 2_000;

fn options() -> ReadOptions<'static> {
    let mut options = ReadOptions::strict();
    options.limits.bytes = 1 << 20;
    options
}

/// Returns a feed with these attributes on its root and the given number of items, each with this content.
fn feed(attributes: &str, items: usize, inside: impl Fn(usize) -> String) -> String {
    let entries: String = (0..items).map(|n| format!("<entry>{}</entry>", inside(n))).collect();
    format!("<feed xmlns=\"{ATOM}\" xmlns:sx=\"{FEEDSYNC}\" {attributes}>{entries}</feed>")
}

fn sync(n: usize, more: &str) -> String {
    format!(
        "<sx:sync id=\"i{n}\" updates=\"1\"><sx:history sequence=\"1\" by=\"a\" {more}/></sx:sync>"
    )
}

fn is_refused(document: &str) -> bool {
    match read(document.as_bytes(), None, &options()) {
        Ok(_) => false,
        Err(error) => {
            assert!(error.to_string().contains("inherit"), "{error}");
            true
        }
    }
}

#[test]
fn items_that_together_inherit_too_much_are_refused() {
    let long = "a".repeat(LONG);
    let around = [
        format!("xml:lang=\"{long}\""),
        format!("xml:base=\"http://example.org/{long}\""),
        format!("xmlns:x=\"urn:{long}\""),
    ];
    for attributes in around {
        let inside = |n| sync(n, "") + "<title>x:</title>";
        assert!(is_refused(&feed(&attributes, ITEMS, inside)), "{}", &attributes[..12]);
        assert!(!is_refused(&feed(&attributes, 5, inside)), "{}", &attributes[..12]);
        let plain = feed(&attributes, ITEMS, |_| "<title>x:</title>".to_owned());
        assert!(read_plain(plain.as_bytes(), &options()).is_err());
    }
}

#[test]
fn long_properties_that_conflicts_histories_and_elements_inherit_are_counted() {
    let long = "a".repeat(LONG);
    let namespace = format!("xmlns:x=\"urn:{long}\"");
    assert!(is_refused(&feed(&namespace, ITEMS, |n| sync(n, "x:y=\"\""))));
    let entry = |n: usize| format!("<entry><title>x:</title>{}</entry>", sync(n, ""));
    let conflicts: String = (0..ITEMS).map(|_| entry(0)).collect();
    let item = format!(
        "<sx:sync id=\"i0\" updates=\"1\"><sx:history sequence=\"1\" by=\"b\"/>\
         <sx:conflicts>{conflicts}</sx:conflicts></sx:sync>"
    );
    assert!(is_refused(&feed(&namespace, 1, |_| item.clone())));
    let language = format!("xml:lang=\"{long}\"");
    let own = |n: usize| format!("<title xml:lang=\"en\">t</title>{}", sync(n, ""));
    assert!(is_refused(&feed(&language, ITEMS, own)));
}

#[test]
fn usual_declarations_are_inherited_by_any_number_of_items() {
    let usual = "xml:lang=\"en\" xml:base=\"http://example.org/\" xmlns:x=\"urn:x\"";
    assert!(!is_refused(&feed(usual, ITEMS, |n| sync(n, "x:y=\"\"") + "<title>x:</title>")));
}

#[test]
fn inherited_properties_of_sse_outlines_are_bounded() {
    let long = "a".repeat(LONG);
    let outline = |n: usize| {
        format!(
            "<outline text=\"x:\"><sx:sync id=\"i{n}\" version=\"1\"><sx:history>\
             <sx:update by=\"a\"/></sx:history></sx:sync></outline>"
        )
    };
    let document = |items: usize| {
        let outlines: String = (0..items).map(outline).collect();
        format!(
            "<opml version=\"2.0\" xmlns:sx=\"http://www.microsoft.com/schemas/rss/sse\" \
             xmlns:x=\"urn:{long}\"><head/><body>{outlines}</body></opml>"
        )
    };
    let refused = sse::Document::read(document(ITEMS).as_bytes(), &options()).err().unwrap();
    assert!(refused.to_string().contains("inherit"), "{refused}");
    assert!(sse::Document::read(document(5).as_bytes(), &options()).is_ok());
}
