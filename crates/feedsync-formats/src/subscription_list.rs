//! Subscription lists: OPML 1.0, 1.1 and 2.0 as newsreaders write and read it.
//!
//! Reading is tolerant: the case of attribute names is ignored, and a list without `body` is accepted. Comments
//! (`isComment`) are left out with all outlines in them. A list that is not well-formed because of missing escapes is
//! repaired.

use std::borrow::Cow;

use crate::compose::push_attribute;
use crate::diagnostic::ReadError;
use crate::mend::escape_stray_markup;
use crate::options::{Limits, ReadOptions};
use crate::xml::{Element, Tree, XmlError, decode, escape_text};

/// Limits of a list: 16 MiB, 100,000 outlines.
const LIMITS: Limits =
    Limits { bytes: 16 << 20, depth: 256, attributes: 256, items: 100_000, history: 0 };

/// An outline of a list. With an address it is a feed. Otherwise it is a folder of the deeper outlines that follow
/// it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedOutline {
    /// Number of outlines around it.
    pub depth: usize,
    /// Text shown to people: `text`, or else `title`.
    pub text: Option<String>,
    /// Address of the feed: `xmlUrl`.
    pub feed: Option<String>,
    /// Address of the web page of the feed: `htmlUrl`.
    pub page: Option<String>,
}

/// Reads the outlines of a list, in document order.
pub fn read_subscription_list(bytes: &[u8]) -> Result<Vec<ListedOutline>, ReadError> {
    let options = ReadOptions { limits: LIMITS, ..ReadOptions::tolerant() };
    let (text, _) = decode(bytes, &options)?;
    match outlines(&text, &options) {
        // The error refers to the original list.
        Err(error @ ReadError::Document { .. }) => {
            outlines(&escape_stray_markup(&text), &options).map_err(|_| error)
        }
        result => result,
    }
}

fn outlines(text: &str, options: &ReadOptions<'_>) -> Result<Vec<ListedOutline>, ReadError> {
    let fault = |error: XmlError| error.into_read_error(text);
    let (tree, _) = Tree::parse(text, options.mode, &options.limits).map_err(fault)?;
    let root = tree.root();
    if !is_named(root, "opml") {
        let found = format!("<{}>", root.name());
        return Err(ReadError::UnknownFormat { found });
    }
    let body = root.children().find(|child| is_named(*child, "body")).unwrap_or(root);
    let mut waiting: Vec<(usize, Element<'_, '_>)> = Vec::new();
    push_inside(&mut waiting, body, 0);
    let mut list = Vec::new();
    while let Some((depth, outline)) = waiting.pop() {
        if value(outline, "isComment").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            continue;
        }
        if list.len() >= LIMITS.items {
            let message = format!("a list can have at most {} outlines", LIMITS.items);
            return Err(fault(XmlError::new(outline.span().start, message)));
        }
        list.push(ListedOutline {
            depth,
            text: value(outline, "text").or_else(|| value(outline, "title")),
            feed: value(outline, "xmlUrl"),
            page: value(outline, "htmlUrl"),
        });
        push_inside(&mut waiting, outline, depth + 1);
    }
    Ok(list)
}

/// Writes a list as OPML 2.0. The parent of an outline is the last less deep outline before it.
pub fn write_subscription_list(title: &str, list: &[ListedOutline]) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<opml version=\"2.0\">\n<head><title>",
    );
    escape_text(&mut out, title);
    out.push_str("</title></head>\n<body>\n");
    // Depths of the open outlines.
    let mut open: Vec<usize> = Vec::new();
    for (index, outline) in list.iter().enumerate() {
        while open.pop_if(|depth| *depth >= outline.depth).is_some() {
            out.push_str("</outline>\n");
        }
        out.push_str("<outline");
        let address = outline.feed.as_deref();
        let text = outline.text.as_deref().or(address).unwrap_or_default();
        push_attribute(&mut out, "text", Some(text));
        push_attribute(&mut out, "title", Some(text));
        push_attribute(&mut out, "type", address.map(|_| "rss"));
        push_attribute(&mut out, "xmlUrl", address);
        push_attribute(&mut out, "htmlUrl", outline.page.as_deref());
        if list.get(index + 1).is_some_and(|next| next.depth > outline.depth) {
            out.push_str(">\n");
            open.push(outline.depth);
        } else {
            out.push_str("/>\n");
        }
    }
    out.push_str(&"</outline>\n".repeat(open.len()));
    out.push_str("</body>\n</opml>\n");
    out
}

/// Pushes the child outlines of an element to a stack, so that the first is on top.
fn push_inside<'t, 'a>(
    waiting: &mut Vec<(usize, Element<'t, 'a>)>,
    element: Element<'t, 'a>,
    depth: usize,
) {
    let first = waiting.len();
    let outlines = element.children().filter(|child| is_named(*child, "outline"));
    waiting.extend(outlines.map(|child| (depth, child)));
    waiting[first..].reverse();
}

fn is_named(element: Element<'_, '_>, name: &str) -> bool {
    element.local().eq_ignore_ascii_case(name)
}

/// Returns the value of an attribute unless it is blank. The case of the name is ignored.
fn value(element: Element<'_, '_>, name: &str) -> Option<String> {
    let text = element.document();
    let exact = element.value(name);
    let any_case = || {
        let is_it = |local: &str| local.eq_ignore_ascii_case(name);
        let attribute = element.attributes().iter().find(|attribute| is_it(attribute.local(text)));
        attribute.map(|attribute| attribute.value(text))
    };
    let value: Cow<'_, str> = exact.or_else(any_case)?;
    (!value.trim().is_empty()).then(|| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(depth: usize, text: &str, feed: Option<&str>) -> ListedOutline {
        ListedOutline {
            depth,
            text: Some(text.to_owned()),
            feed: feed.map(str::to_owned),
            page: None,
        }
    }

    fn read(text: &str) -> Vec<ListedOutline> {
        read_subscription_list(text.as_bytes()).unwrap()
    }

    #[test]
    fn lists_of_all_common_forms_are_read() {
        let nested = "<?xml version='1.0' encoding='ISO-8859-1'?><!DOCTYPE opml><OPML version='1.0'><head/><body>\
             <Outline TITLE='News &eacute;'><!-- a --><outline text='A' XMLURL='http://a/' type='RSS'/></Outline>\
             <outline text='note' isComment='TRUE'><outline text='B' xmlUrl='http://b/'/></outline>\
             <outline text=' ' title='C' xmlurl='http://c/'/></body></OPML>";
        assert_eq!(
            read(nested),
            [
                outline(0, "News \u{e9}", None),
                outline(1, "A", Some("http://a/")),
                outline(0, "C", Some("http://c/")),
            ]
        );
        assert_eq!(read("<opml><outline text='A' xmlUrl='http://a/'/></opml>").len(), 1);
        assert_eq!(read("<opml version='2.0'><body/></opml>"), []);
        let unescaped =
            "<opml><outline text=\"\"A\" & b < c\" xmlUrl=\"http://a/?b&c\" type=\"rss\" /></opml>";
        assert_eq!(read(unescaped), [outline(0, "\"A\" & b < c", Some("http://a/?b&c"))]);
    }

    #[test]
    fn a_written_list_reads_back_the_same() {
        let list = [
            outline(0, "a < \"b\" & c", None),
            outline(1, "d", None),
            outline(2, "e", Some("http://e/?a&b")),
            outline(0, "f", Some("http://f/")),
        ];
        let written = write_subscription_list("all & sundry", &list);
        assert_eq!(read(&written), list);
        assert_eq!(read(&write_subscription_list("", &[])), []);
        let leaps = [(3, 0), (7, 1), (5, 1), (0, 0)];
        let list = leaps.map(|(depth, _)| outline(depth, "a", None));
        let nested = leaps.map(|(_, depth)| outline(depth, "a", None));
        assert_eq!(read(&write_subscription_list("", &list)), nested);
    }

    #[test]
    fn documents_that_are_not_lists_are_refused() {
        for (text, reason) in [
            ("<rss/>", "<rss>"),
            ("<opml><body></opml>", "1:"),
            ("<opml><body><outline text=a/></body></opml>", "1:27"),
            ("", "1:"),
        ] {
            let error = read_subscription_list(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let many = format!("<opml>{}</opml>", "<outline/>".repeat(LIMITS.items + 1));
        let error = read_subscription_list(many.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("100000 outlines"), "{error}");
        let deep = format!("<opml>{}", "<outline>".repeat(10_000));
        assert!(read_subscription_list(deep.as_bytes()).is_err());
    }
}
