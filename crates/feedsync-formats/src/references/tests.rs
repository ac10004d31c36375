//! References of every kind against a base, and what is none.

use super::*;

fn base(base: &str) -> Base {
    Base { base: Some(base.to_owned()), wanted: true }
}

#[test]
fn references_in_markup_become_absolute_and_nothing_else_changes() {
    let base = base("http://h/a/b?q");
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
        assert_eq!(Base::OUTSIDE.resolve_markup(html.to_owned()), html);
    }
}

#[test]
fn what_can_be_no_reference_stays() {
    let base = base("http://h/a/");
    for text in ["http://[", "%zz", "urn:x:1", "é:é", "a%"] {
        let resolved = base.resolve(text.to_owned());
        assert!(resolved == text || resolved.starts_with("http://h/a/"), "{text}: {resolved}");
    }
    for no_base in ["", "relative/", "//h/a"] {
        let base = Base { base: Some(no_base.to_owned()), wanted: true };
        assert_eq!(base.resolve("c d".to_owned()), "c d");
    }
}
