//! Spelling of elements and attributes in the formats, for documents that write them in capitals.

use super::soup::Tag;

/// Elements of RSS and Atom without a prefix.
const ELEMENTS: &[&str] = &[
    "rss",
    "RDF",
    "feed",
    "channel",
    "item",
    "items",
    "entry",
    "title",
    "link",
    "description",
    "guid",
    "pubDate",
    "lastBuildDate",
    "category",
    "comments",
    "enclosure",
    "author",
    "source",
    "language",
    "copyright",
    "managingEditor",
    "webMaster",
    "generator",
    "docs",
    "cloud",
    "ttl",
    "image",
    "url",
    "width",
    "height",
    "rating",
    "textInput",
    "name",
    "skipHours",
    "skipDays",
    "hour",
    "day",
    "id",
    "updated",
    "modified",
    "published",
    "issued",
    "created",
    "summary",
    "content",
    "contributor",
    "rights",
    "logo",
    "icon",
    "subtitle",
    "tagline",
    "uri",
    "email",
    "date",
];

/// Attributes of such elements.
const ATTRIBUTES: &[&str] = &[
    "version",
    "url",
    "length",
    "type",
    "isPermaLink",
    "domain",
    "href",
    "rel",
    "term",
    "scheme",
    "label",
    "src",
    "title",
    "xmlns",
    "lang",
    "base",
];

/// Corrects the spelling of the names in a tag. Returns whether a name was changed.
pub(super) fn respelt_tag(tag: &mut Tag<'_>) -> bool {
    let mut is_changed = false;
    if let Some(name) = respelt(ELEMENTS, tag.name) {
        (tag.name, is_changed) = (name, true);
    }
    for (name, _) in &mut tag.attributes {
        if let Some(known) = respelt(ATTRIBUTES, name) {
            (*name, is_changed) = (known, true);
        }
    }
    is_changed
}

/// Returns the correct spelling of an element's name, if it differs.
pub(super) fn respelt_element(name: &str) -> Option<&'static str> {
    respelt(ELEMENTS, name)
}

fn respelt(names: &[&'static str], name: &str) -> Option<&'static str> {
    let known = names.iter().find(|known| known.eq_ignore_ascii_case(name))?;
    (*known != name).then_some(known)
}
