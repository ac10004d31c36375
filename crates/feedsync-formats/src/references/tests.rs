//! Resolving references of every type, and texts that are no references.

use super::*;

fn base<'s>(base: &str, spare: &'s Cell<usize>) -> Base<'s> {
    Base { base: IriString::try_from(base).ok(), spare: Some(spare) }
}

#[test]
fn references_in_markup_become_absolute_and_nothing_else_changes() {
    let spare = Cell::new(MAX_GROWTH_BYTES);
    let base = base("http://h/a/b?q", &spare);
    for (html, expected) in [
        ("<a href=\"c\">c</a>", "<a href=\"http://h/a/c\">c</a>"),
        ("<A HREF='/c?x=1&amp;y=2'>", "<A HREF='http://h/c?x=1&amp;y=2'>"),
        ("<img src=c.png alt=\"src=x\"/>", "<img src=\"http://h/a/c.png\" alt=\"src=x\"/>"),
        ("<img src=c.png>", "<img src=\"http://h/a/c.png\">"),
        ("<a href=\" c d.png \">", "<a href=\"http://h/a/c%20d.png\">"),
        ("<a href='#n'>", "<a href='http://h/a/b?q#n'>"),
        ("<a href=\"it's\">", "<a href=\"http://h/a/it&#39;s\">"),
        (
            "<img srcset=\"c 1x, /d,e 2x,\nf\">",
            "<img srcset=\"http://h/a/c 1x, http://h/d,e 2x,&#10;http://h/a/f\">",
        ),
        ("<a href=\"mailto:a@h\">", "<a href=\"mailto:a@h\">"),
        ("<a href=\"http://x/?a=1&b=2\">", "<a href=\"http://x/?a=1&b=2\">"),
        ("a < b href=\"c\" <!-- <a href=\"c\"> -->", "a < b href=\"c\" <!-- <a href=\"c\"> -->"),
        ("<a href=\"c", "<a href=\"c"),
        ("", ""),
    ] {
        assert_eq!(base.resolve_markup(html.to_owned()), expected, "{html}");
        assert_eq!(Base::outside(&spare).resolve_markup(html.to_owned()), html);
    }
}

#[test]
fn texts_that_are_no_references_stay_unchanged() {
    let spare = Cell::new(MAX_GROWTH_BYTES);
    let relative = base("http://h/a/", &spare);
    for (text, expected) in [
        ("http://[", "http://["),
        ("urn:x:1", "urn:x:1"),
        ("%zz", "%zz"),
        ("a%", "a%"),
        ("\u{e9}:\u{e9}", "\u{e9}:\u{e9}"),
        ("\u{e9}", "http://h/a/\u{e9}"),
    ] {
        assert_eq!(relative.resolve(text.to_owned()), expected);
    }
    for no_base in ["", "relative/", "//h/a"] {
        assert_eq!(base(no_base, &spare).resolve("c d".to_owned()), "c d");
    }
}

#[test]
fn an_item_grows_up_to_the_limit_and_further_references_stay_unchanged() {
    let spare = Cell::new(20);
    let base = base("http://h/a/", &spare);
    let html = "<a href=\"b\"><a href=\"c\"><a href=\"http://x/\">".to_owned();
    let some = "<a href=\"http://h/a/b\"><a href=\"c\"><a href=\"http://x/\">";
    assert_eq!(base.resolve_markup(html), some);
    assert_eq!(base.resolve("d".to_owned()), "d");
}

/// Returns an Atom entry with these references and a base of the given length.
fn entry(base: usize, references: &str) -> feedsync_core::Payload {
    let base = format!("http://h/{}/", "b".repeat(base - "http://h//".len()));
    let text = format!(
        "<entry xmlns=\"http://www.w3.org/2005/Atom\" xml:base=\"{base}\">\
         <content type=\"html\">{references}</content></entry>"
    );
    feedsync_core::Payload::from_parsed(feedsync_core::Format::Atom, text)
}

#[test]
fn a_hostile_entry_is_shown_at_the_cost_of_its_own_length() {
    let many = "&lt;a href='x'>".repeat(100_000);
    let own = "<a href='x'>".repeat(100_000);
    // With the longest valid base, the entry grows by the maximum and no further.
    let shown = crate::entry::absolute(&entry(MAX_BASE_BYTES, &many)).content.unwrap();
    let gained = shown.len() - own.len();
    assert!((MAX_GROWTH_BYTES - MAX_BASE_BYTES..=MAX_GROWTH_BYTES).contains(&gained), "{gained}");
    // A longer base is ignored.
    let shown = crate::entry::absolute(&entry(MAX_BASE_BYTES + 1, &many)).content.unwrap();
    assert_eq!(shown, own);
    let shown = crate::entry::absolute(&entry(4 << 20, &many)).content.unwrap();
    assert_eq!(shown, own);
}
