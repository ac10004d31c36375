//! Removes the window of a document whose items changed.
//!
//! `until` names the last change of a feed, and each further change raises it (FeedSync 4.2.3, SSE 2.1). The values
//! are opaque, so only the publisher knows the next one. An edited document therefore loses `since` and `until`, and
//! subscribers can draw no conclusions from it. SSE keeps `since`: it stays true, and a feed without it would claim
//! to be complete.

use crate::json::{Node, without};
use crate::options::ReadOptions;
use crate::xml::{Attribute, Namespace, Reader, StartTag, Token};

/// Removes the window from the `sx:sharing` of a feed in XML.
pub(crate) fn without_window(text: String) -> String {
    let Some(tag) = sharing(&text) else { return text };
    let names: &[&str] = if tag.is_sse { &["until"] } else { &["since", "until"] };
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for attribute in &tag.attributes {
        let is_plain = attribute.namespace() == Namespace::NONE;
        if is_plain && names.contains(&attribute.local(&text)) {
            out.push_str(text[from..attribute.start()].trim_end());
            from = attribute.span().end;
        }
    }
    out.push_str(&text[from..]);
    out
}

/// Removes the window from the `sharing` of a feed in JSON; `None` if it has no window.
pub(crate) fn without_json_window(text: &str) -> Option<String> {
    let sharing = Node::root(text).member("sharing")?.value;
    sharing.member("until")?;
    let since = without(sharing, "since");
    let rest = without(Node::root(&since), "until");
    Some([&text[..sharing.start()], &rest, &text[sharing.end()..]].concat())
}

/// A start tag of `sx:sharing`.
struct Sharing {
    attributes: Vec<Attribute>,
    is_sse: bool,
}

/// Finds the `sx:sharing` of a feed: a child of the root, of `channel` or of `head`.
fn sharing(text: &str) -> Option<Sharing> {
    // The document was read before, in either mode.
    let options = ReadOptions::tolerant();
    let mut reader = Reader::new(text, options.mode, &options.limits).ok()?;
    let mut attributes = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    loop {
        attributes.clear();
        match reader.token(&mut attributes).ok()? {
            Token::Start(tag) => {
                let local = tag.local_name(text);
                if is_sharing(&tag, local) && is_of_feed(&path) {
                    let is_sse = tag.namespace.is_sse();
                    return Some(Sharing { attributes, is_sse });
                }
                if !tag.empty {
                    path.push(local);
                }
            }
            Token::End { .. } => {
                path.pop();
            }
            Token::EndOfDocument => return None,
            _ => {}
        }
    }
}

fn is_sharing(tag: &StartTag, local: &str) -> bool {
    let is_ours = tag.namespace == Namespace::FEEDSYNC || tag.namespace.is_sse();
    is_ours && local == "sharing"
}

fn is_of_feed(path: &[&str]) -> bool {
    matches!(path, [_] | ["rss", "channel"] | ["opml", "head"])
}

#[cfg(test)]
mod tests {
    use feedsync_core::{Format, Update};

    use super::*;

    #[test]
    fn removes_only_the_window() {
        let sharing = "<sx:sharing a:since='1' since='2'\n\tuntil=\"3\" expires='4'><sx:related/></sx:sharing>";
        let kept = "<sx:sharing a:since='1' expires='4'><sx:related/></sx:sharing>";
        let feed = |namespace: &str, start: &str, sharing: &str, end: &str| {
            let root = start.split([' ', '>']).next().unwrap();
            let declared = format!("{root} xmlns:sx='{namespace}' xmlns:a='urn:a'");
            format!("{}{sharing}{end}", start.replacen(root, &declared, 1))
        };
        let feedsync = "http://feedsync.org/2007/feedsync";
        let sse = "http://www.microsoft.com/schemas/rss/sse";
        for (start, end) in [
            ("<rss version='2.0'><channel>", "</channel></rss>"),
            ("<opml><head>", "</head></opml>"),
            ("<feed xmlns='http://www.w3.org/2005/Atom'>", "</feed>"),
            ("<all>", "</all>"),
        ] {
            let edited = without_window(feed(feedsync, start, sharing, end));
            assert_eq!(edited, feed(feedsync, start, kept, end));
            let edited = without_window(feed(sse, start, sharing, end));
            let kept = kept.replace(" expires", " since='2' expires");
            assert_eq!(edited, feed(sse, start, &kept, end));
        }
        // A document without sx:sharing, and one whose sx:sharing belongs to an item.
        for (start, sharing) in [("<rss><channel>", ""), ("<rss><channel><item>", sharing)] {
            let end = start.split('<').rev().filter(|it| !it.is_empty());
            let end: String = end.map(|name| format!("</{name}")).collect();
            let document = feed(feedsync, start, sharing, &end);
            assert_eq!(without_window(document.clone()), document);
        }
    }

    #[test]
    fn elements_that_are_no_sharing_of_the_feed_keep_their_window() {
        let window = " since='1' until='2'";
        for (namespace, name) in [
            ("urn:other", "sharing"),
            ("http://feedsync.org/2007/feedsync", "related"),
            ("http://feedsync.org/2007/feedsync", "Sharing"),
            ("http://www.microsoft.com/schemas/rss/sse", "related"),
        ] {
            let other = format!("<o:{name} xmlns:o='{namespace}'{window}/>");
            let feed = |sharing: &str| {
                format!(
                    "<rss xmlns:sx='http://feedsync.org/2007/feedsync'><channel>{other}\
                     <sx:sharing{sharing}/></channel></rss>"
                )
            };
            assert_eq!(without_window(feed(window)), feed(""), "{namespace} {name}");
        }
    }

    #[test]
    fn removes_only_the_window_from_json() {
        for (document, expected) in [
            (
                r#"{"items": [], "sharing": {"since": "1", "until": "2", "x": 1}}"#,
                r#"{"items": [], "sharing": { "x": 1}}"#,
            ),
            (r#"{"sharing":{"x":1,"until":"2","since":"1"}}"#, r#"{"sharing":{"x":1}}"#),
        ] {
            assert_eq!(without_json_window(document).as_deref(), Some(expected));
        }
        for document in [r#"{"items":[]}"#, r#"{"sharing":{"expires":"x"}}"#, "[]"] {
            assert_eq!(without_json_window(document), None);
        }
    }

    #[test]
    fn documents_of_every_format_lose_their_window_with_the_first_change() {
        let sharing = feedsync_core::Sharing {
            window: Some(feedsync_core::Window { since: "1".into(), until: "2".into() }),
            expires: None,
            related: vec![feedsync_core::Related {
                link: "http://h/all".into(),
                title: None,
                kind: feedsync_core::RelatedKind::Complete,
            }],
        };
        for format in Format::ALL {
            let mut out = String::new();
            let mut writer = crate::FeedWriter::new(format);
            let head = crate::FeedHead {
                id: "urn:x:feed",
                title: "t",
                updated: "2026-01-01T00:00:00Z".parse().unwrap(),
                author: "a",
                details: None,
                self_link: None,
                next: None,
                links: &[],
                complete: false,
                sharing: Some(&sharing),
            };
            writer.begin(&mut out, &head);
            writer.end(&mut out);
            let document = crate::Document::read(out.as_bytes(), &ReadOptions::strict()).unwrap();
            assert_eq!(document.to_bytes_with(&[]), out.as_bytes(), "{format}");
            let entry = crate::Entry { title: Some("x".to_owned()), ..crate::Entry::default() };
            let update = Update::signed(
                feedsync_core::Sequence::FIRST,
                "2026-01-01T00:00:00Z".parse().unwrap(),
                feedsync_core::By::new("a").unwrap(),
            );
            let item = feedsync_core::Item {
                id: feedsync_core::ItemId::new("i").unwrap(),
                winner: feedsync_core::Version {
                    updates: feedsync_core::Updates::new(1).unwrap(),
                    deleted: false,
                    noconflicts: None,
                    history: feedsync_core::History::new(update),
                    payload: crate::compose(format, &entry),
                },
                conflicts: Vec::new(),
            };
            let edited = document.to_bytes_with(std::slice::from_ref(&item));
            let reading = crate::read(&edited, None, &ReadOptions::strict()).unwrap();
            let said = reading.feed.sharing.unwrap();
            assert_eq!((said.window, said.related), (None, sharing.related.clone()), "{format}");
            assert_eq!(reading.feed.items, [item], "{format}");
        }
    }
}
