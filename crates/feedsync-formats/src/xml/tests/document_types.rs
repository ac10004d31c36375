//! Finding the end of a document type, whose content is not interpreted.

use super::*;

#[test]
fn a_document_type_ends_behind_its_quotes_comments_instructions_and_brackets() {
    for inside in [
        "",
        " SYSTEM \"a>b'\"",
        " PUBLIC '>' '\"]>'",
        "[]",
        "[<!ELEMENT a (b)>]",
        "[<!ENTITY b \"]>\"> ]",
        "[<!---->]",
        "[<!-- ]> \" ' < -->]",
        "[<?p ]> \" ' <!-- ?>]",
        "[<??><?p?>]",
        "[<![IGNORE[<!ENTITY c ''>]]>]",
    ] {
        let text = format!("<!DOCTYPE a{inside}><a>x</a>");
        // The document type, a start tag, text and an end tag.
        assert_eq!(read_through(&text, Mode::Tolerant).unwrap(), 4, "{text}");
    }
    for unfinished in [" \"", "[", "[<!--->]", "[<?>]", "[<!-- ", "[<?p ", "[<!ELEMENT"] {
        let text = format!("<!DOCTYPE a{unfinished}><a/>");
        let error = read_through(&text, Mode::Tolerant).expect_err(&text);
        assert_eq!(
            (error.offset, &*error.message),
            (0, "a document type without an end"),
            "{text}"
        );
    }
}
