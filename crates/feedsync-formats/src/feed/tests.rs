use super::*;

/// Returns the role of an element `local` at a path.
fn role(
    format: Format,
    root: Namespace,
    path: &[&str],
    (namespace, local): (Namespace, &str),
) -> Role {
    let options = ReadOptions::tolerant();
    FeedReader::new("", format, &options).role(TagContext { path, root, namespace, local })
}

#[test]
fn elements_have_their_roles_at_their_places_in_their_namespaces_only() {
    use Format::{Atom, Opml, Pox, Rss};
    const NONE: Namespace = Namespace::NONE;
    const ATOM: Namespace = Namespace::ATOM;
    const RDF: Namespace = Namespace::RDF;
    const OLD: Namespace = Namespace::ATOM03;
    for (format, root, path, element, expected) in [
        (Atom, ATOM, &[][..], (ATOM, "feed"), Role::Items),
        (Atom, ATOM, &["feed"], (ATOM, "entry"), Role::Item),
        (Atom, OLD, &["feed"], (OLD, "entry"), Role::Item),
        (Atom, OLD, &["feed"], (ATOM, "entry"), Role::Item),
        (Atom, ATOM, &["feed"], (OLD, "entry"), Role::Other),
        (Atom, ATOM, &["feed"], (ATOM, "title"), Role::Title),
        (Atom, OLD, &["feed"], (OLD, "title"), Role::Title),
        (Atom, OLD, &["feed"], (ATOM, "title"), Role::Other),
        (Atom, ATOM, &["feed"], (ATOM, "id"), Role::Other),
        (Atom, ATOM, &["feed", "x"], (ATOM, "entry"), Role::Other),
        (Atom, ATOM, &["feed", "x"], (ATOM, "title"), Role::Other),
        (Rss, NONE, &[], (NONE, "rss"), Role::Container),
        (Rss, NONE, &["rss"], (NONE, "channel"), Role::Items),
        (Rss, NONE, &["rss"], (NONE, "item"), Role::Item),
        (Rss, NONE, &["rss"], (NONE, "x"), Role::Other),
        (Rss, NONE, &["rss", "channel"], (NONE, "item"), Role::Item),
        (Rss, NONE, &["rss", "channel"], (NONE, "title"), Role::Title),
        (Rss, NONE, &["rss", "channel"], (ATOM, "title"), Role::Other),
        (Rss, NONE, &["rss", "x"], (NONE, "item"), Role::Other),
        (Rss, NONE, &["rss", "x"], (NONE, "title"), Role::Other),
        (Rss, RDF, &[], (RDF, "RDF"), Role::Items),
        (Rss, RDF, &["RDF"], (NONE, "channel"), Role::Container),
        (Rss, RDF, &["RDF"], (NONE, "item"), Role::Item),
        (Rss, RDF, &["RDF", "channel"], (NONE, "title"), Role::Title),
        (Opml, NONE, &[], (NONE, "opml"), Role::Container),
        (Opml, NONE, &["opml"], (NONE, "head"), Role::Container),
        (Opml, NONE, &["opml"], (NONE, "body"), Role::Outlines),
        (Opml, NONE, &["opml"], (NONE, "title"), Role::Other),
        (Opml, NONE, &["opml", "head"], (NONE, "title"), Role::Title),
        (Opml, NONE, &["opml", "head"], (NONE, "x"), Role::Other),
        (Pox, NONE, &[], (NONE, "x"), Role::Items),
        (Pox, NONE, &["x"], (NONE, "y"), Role::Candidate),
    ] {
        assert_eq!(
            role(format, root, path, element),
            expected,
            "{format} {root:?} {path:?} {element:?}"
        );
        let sharing = (Namespace::FEEDSYNC, "sharing");
        assert_eq!(role(format, root, path, sharing), Role::Sharing, "{format} {path:?}");
        assert_ne!(role(format, root, path, (NONE, "sharing")), Role::Sharing, "{format} {path:?}");
    }
}

#[test]
fn new_items_go_before_the_end_tag_or_the_end_of_an_empty_element() {
    let ns = "xmlns:s='http://feedsync.org/2007/feedsync'";
    for (format, text, name) in [
        (Format::Atom, "<feed xmlns='http://www.w3.org/2005/Atom' %@/>", "feed"),
        (Format::Atom, "<f:feed xmlns:f='http://www.w3.org/2005/Atom' %@/>", "f:feed"),
        (Format::Atom, "<feed xmlns='http://www.w3.org/2005/Atom' %><id/>@</feed>", ""),
        (Format::Rss, "<rss %><channel @/></rss>", "channel"),
        (Format::Rss, "<rss %><channel><title/> @</channel></rss>", ""),
        (
            Format::Rss,
            "<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' %><channel/>@</r:RDF>",
            "",
        ),
        (Format::Opml, "<opml %><head/><body@/></opml>", "body"),
        (Format::Opml, "<opml %><head/><body><outline/>@</body></opml>", ""),
        (Format::Pox, "<all %@/>", "all"),
        (Format::Pox, "<all %><a/>@</all>", ""),
    ] {
        let text = text.replace('%', ns);
        let offset = text.find('@').unwrap();
        let parsed = parse(&text.replace('@', ""), Some(format), &ReadOptions::tolerant()).unwrap();
        let End { offset: found, empty, prefix, .. } = parsed.end;
        assert_eq!((found, empty.as_deref().unwrap_or_default()), (offset, name), "{text}");
        assert_eq!(prefix.as_deref(), Some("s"), "{text}");
    }
}

#[test]
fn items_versions_and_updates_are_as_many_as_the_limits_at_most() {
    let sync = |id: &str, updates: u32, inside: &str| {
        let history: String = (1..=updates)
            .rev()
            .map(|sequence| format!("<s:history sequence='{sequence}' by='a'/>"))
            .collect();
        format!("<s:sync id='{id}' updates='{updates}'>{history}{inside}</s:sync>")
    };
    let conflicts =
        |name: &str| format!("<s:conflicts><{name}>{}</{name}></s:conflicts>", sync("a", 2, ""));
    let ns = "xmlns:s='http://feedsync.org/2007/feedsync'";
    for (format, name, begin, end) in [
        (Format::Atom, "entry", "<feed xmlns='http://www.w3.org/2005/Atom' #>", "</feed>"),
        (Format::Rss, "item", "<rss version='2.0' #><channel>", "</channel></rss>"),
        (Format::Opml, "outline", "<opml version='2.0' #><head/><body>", "</body></opml>"),
        (Format::Pox, "n", "<all #>", "</all>"),
    ] {
        let text = format!(
            "{}<{name}>{}</{name}><{name}>{}</{name}>{end}",
            begin.replace('#', ns),
            sync("a", 1, &conflicts(name)),
            sync("b", 3, "")
        );
        let within = |items: usize, history: usize| {
            let mut options = ReadOptions::strict();
            (options.limits.items, options.limits.history) = (items, history);
            let parsed = parse(&text, Some(format), &options).ok()?;
            Some((parsed.reading.feed.items.len(), parsed.reading.refused.len()))
        };
        assert_eq!(within(4, 4), Some((2, 0)), "{format}");
        assert_eq!(within(3, 3), Some((2, 0)), "{format}");
        assert_eq!(within(2, 3), None, "{format}");
        assert_eq!(within(1, 3), None, "{format}");
        assert_eq!(within(3, 2), Some((1, 1)), "{format}");
        assert_eq!(within(3, 1), Some((0, 2)), "{format}");
    }
}

#[test]
fn plain_xml_has_its_title_in_an_attribute_without_a_prefix() {
    let title = |attributes: &str| {
        let text = format!("<all {attributes} xmlns:x='urn:x'/>");
        parse(&text, Some(Format::Pox), &ReadOptions::strict()).unwrap().reading.title
    };
    assert_eq!(title("x:title='U' name='N' title='T &amp; t'").as_deref(), Some("T & t"));
    assert_eq!(title("x:title='U' name='N'"), None);
}
