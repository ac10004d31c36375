//! Links of items that take no part in sharing, without the other parts of a feed. A web page that needs links alone does
//! not download the code for those.

use feedsync_core::Format;

use crate::entry::{Link, links_of_item, links_of_object};
use crate::json;
use crate::options::{Mode, ReadOptions};
use crate::plain::{is_object, takes_part};
use crate::read::looks_like_json;
use crate::rss;
use crate::structure::{Role, TagContext};
use crate::xml::{Element, Namespace, Tree, check_is_xml, decode};

/// Returns the links of the items of an RSS or JSON feed that [`read_plain`](crate::read_plain) returns, as in their
/// [`entry`](fn@crate::entry). Returns `None` for a document that is not well-formed or no feed of the given format.
pub fn plain_links(bytes: &[u8], format: Format, options: &ReadOptions<'_>) -> Option<Vec<Link>> {
    match format {
        Format::Json => of_json(bytes, options),
        Format::Rss => of_rss(bytes, options),
        Format::Atom | Format::Opml | Format::Pox => None,
    }
}

fn of_json(bytes: &[u8], options: &ReadOptions<'_>) -> Option<Vec<Link>> {
    let text = json::text_of(bytes, options).ok()?;
    let flaws = json::check(text, options.limits.depth).ok()?;
    let root = json::Node::root(text);
    let items = if is_object(root) { root.member("items")?.value } else { return None };
    let array = items.span();
    let is_list = match items.kind() {
        json::Kind::Array => true,
        // Reading takes an object for a list of one item, which has no elements.
        json::Kind::Object => options.mode == Mode::Tolerant,
        _ => false,
    };
    if !is_list || flaws.iter().any(|(at, _)| !array.contains(at)) {
        return None;
    }
    let plain = items.elements().filter(|item| is_object(*item) && !takes_part(*item));
    Some(plain.flat_map(links_of_object).collect())
}

fn of_rss(bytes: &[u8], options: &ReadOptions<'_>) -> Option<Vec<Link>> {
    if looks_like_json(bytes) {
        return None;
    }
    let (text, _) = decode(bytes, options).ok()?;
    check_is_xml(&text).ok()?;
    let (tree, _) = Tree::parse(&text, options.mode, &options.limits).ok()?;
    let root = tree.root();
    let mut links = Vec::new();
    visit(root, &mut vec![root.local()], root.namespace(), &mut links);
    Some(links)
}

/// Adds the links of the items in an element. Items are at most three elements deep.
fn visit<'a>(
    element: Element<'_, 'a>,
    path: &mut Vec<&'a str>,
    root: Namespace,
    links: &mut Vec<Link>,
) {
    for child in element.children() {
        let (namespace, local) = (child.namespace(), child.local());
        let is_sharing = namespace == Namespace::FEEDSYNC && local == "sharing";
        match rss::role(TagContext { path, root, namespace, local }) {
            _ if is_sharing => {}
            Role::Container | Role::Items => {
                path.push(local);
                visit(child, path, root, links);
                path.pop();
            }
            Role::Item if !child.children().any(is_sync) => links.extend(links_of_item(child)),
            _ => {}
        }
    }
}

fn is_sync(child: Element<'_, '_>) -> bool {
    let namespace = child.namespace();
    child.local() == "sync" && (namespace == Namespace::FEEDSYNC || namespace.is_sse())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{entry, read_plain};

    #[test]
    fn links_are_those_of_the_plain_items() {
        let feedsync = crate::payload::FEEDSYNC;
        let rss = |items: &str| {
            format!(
                "<rss version='2.0' xmlns:a='http://www.w3.org/2005/Atom' xmlns:sx='{feedsync}' \
                 xmlns:s='http://www.microsoft.com/schemas/rss/sse' xml:base='http://b.example/'>\
                 <channel><title>t</title><link>http://c.example/</link>{items}</channel></rss>"
            )
        };
        let item = "<item><link>http://a.example/?x=1&amp;y=2</link><guid>http://g.example/</guid>\
                    <enclosure url='p.jpg?a&#38;b' type='image/jpeg' length='12'/>\
                    <a:link rel='edit' href='../e' title='&eacute;'/></item>";
        let rdf = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' \
                   xmlns='http://purl.org/rss/1.0/'><channel><link>c</link></channel>\
                   <item><link>r</link><enclosure url='e'/></item></rdf:RDF>";
        let json = |items: &str| {
            format!("{{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":{items}}}")
        };
        for document in [
            rss(item),
            rss("<item/><item><guid>http://g.example/</guid></item>"),
            rss("<item><guid isPermaLink='false'>http://g.example/</guid></item>"),
            rss("<item><link>?a=1&copy=2&hit;</link><enclosure url='?a&hit;&b'/></item>"),
            rss(
                "<item><link xml:base='http://d.example/'>x</link><item><link>y</link></item></item>",
            ),
            rss(
                "<item><link>a</link><sx:sync id='x' updates='1'/></item><item><link>b</link></item>",
            ),
            rss("<item><link>a</link><s:sync id='x' version='1'/></item><other><item/></other>"),
            rss("<item><link>a</item>"),
            rdf.to_owned(),
            rdf.replace("rdf-syntax-ns#", "other"),
            "<rss/>".to_owned(),
            "<rss><channel><item><link>x</link></channel></rss>".to_owned(),
            json("[]"),
            json(
                "[{\"url\":\"a\",\"links\":[\"b\",{\"rel\":\"r\",\"href\":\"c\",\"length\":\"3\"}]}, 1]",
            ),
            json("[{\"link\":7},{\"url\":\"a\",\"sync\":{}},{\"url\":\"b\",\"sync\":null}]"),
            json("[{\"url\":\"a\",\"url\":\"b\"}]"),
            json("{}"),
            json("[{\"url\":\"\\ud800\"}],\"x\":\"\\ud800\""),
            "[]".to_owned(),
            "{\"items\":[".to_owned(),
        ] {
            let options =
                ReadOptions { base: Some("http://f.example/"), ..ReadOptions::tolerant() };
            let is_json = looks_like_json(document.as_bytes());
            let format = if is_json { Format::Json } else { Format::Rss };
            let plain = read_plain(document.as_bytes(), &options).ok();
            let expected: Option<Vec<Link>> = plain
                .map(|plain| plain.payloads.iter().flat_map(|item| entry(item).links).collect());
            assert_eq!(plain_links(document.as_bytes(), format, &options), expected, "{document}");
        }
    }
}
