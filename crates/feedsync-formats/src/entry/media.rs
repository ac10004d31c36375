//! Elements of Media RSS, the iTunes podcast module and FeedBurner in a feed entry, for newsreaders.
//!
//! The first two add to an article in Atom or RSS: its text if it has no other, thumbnails, and media with their
//! lengths. The entry's own format takes precedence. The original address that FeedBurner replaced takes precedence
//! over the entry's link.

use super::{ALTERNATE, ContentType, ENCLOSURE, Entry, Link, Person, attribute, namespace, text};
use crate::references::Base;
use crate::xml::{Element, Namespaces};

/// Namespace of Media RSS.
pub(crate) const MEDIA: &str = "http://search.yahoo.com/mrss/";
/// Namespace of the iTunes podcast module.
pub(crate) const ITUNES: &str = "http://www.itunes.com/dtds/podcast-1.0.dtd";

/// Namespace of FeedBurner, which replaces links by its own addresses and records the original ones.
pub(crate) const FEEDBURNER: &str = "http://rssnamespace.org/feedburner/ext/1.0";

/// Maximum nesting of groups that are read, and maximum number of media of one entry.
const MAX_GROUP_DEPTH: usize = 4;
const MAX_MEDIA: usize = 100;

/// Fields of an article that are found in Media RSS and iTunes elements.
#[derive(Default)]
struct MediaFields {
    title: Option<String>,
    text: Option<(String, ContentType)>,
    summary: Option<String>,
    author: Option<String>,
    duration: Option<u32>,
    original: Option<String>,
    media: Vec<Link>,
    thumbnails: Vec<Link>,
}

/// Adds the fields that the modules define in an element to its entry.
pub(super) fn add(
    entry: &mut Entry,
    element: Element<'_, '_>,
    namespaces: &Namespaces<'_>,
    base: &Base<'_>,
) {
    let mut fields = MediaFields::default();
    fields.read(element, namespaces, base, 0);
    if let Some(original) = fields.original {
        entry.links.insert(0, Link::new(ALTERNATE, &original));
    }
    entry.title = entry.title.take().or(fields.title);
    if entry.author.is_none() {
        entry.author = fields.author.map(|name| Person { name: Some(name), ..Person::default() });
    }
    if entry.content.is_none() && entry.summary.is_none() {
        let (content, kind) = match fields.text {
            Some((text, kind)) => (Some(text), kind),
            None => (fields.summary, ContentType::Text),
        };
        (entry.content, entry.content_type) = (content, kind);
    }
    for link in fields.media.into_iter().chain(fields.thumbnails).take(MAX_MEDIA) {
        match entry.links.iter_mut().find(|known| known.rel == ENCLOSURE && known.href == link.href)
        {
            Some(known) => known.duration = known.duration.or(link.duration),
            None => entry.links.push(link),
        }
    }
    let is_timed = |link: &&mut Link| {
        let media_type = link.media_type.as_deref().unwrap_or_default();
        link.rel == ENCLOSURE && !media_type.starts_with("image/")
    };
    if let Some(first) = entry.links.iter_mut().find(is_timed) {
        first.duration = first.duration.or(fields.duration);
    }
}

impl MediaFields {
    fn read(
        &mut self,
        element: Element<'_, '_>,
        namespaces: &Namespaces<'_>,
        base: &Base<'_>,
        depth: usize,
    ) {
        for child in element.children() {
            let base = base.inside(child);
            // The namespace of Media RSS occurs with and without the trailing slash.
            let module = namespace(child, namespaces).trim_end_matches('/');
            if module.eq_ignore_ascii_case(MEDIA.trim_end_matches('/')) {
                self.of_media(child, namespaces, &base, depth);
            } else if module.eq_ignore_ascii_case(ITUNES) {
                self.of_itunes(child, &base);
            } else if module.eq_ignore_ascii_case(FEEDBURNER) && child.local() == "origLink" {
                self.original =
                    self.original.take().or_else(|| text(child).filter(|to| is_web(to)));
            }
        }
    }

    fn of_media(
        &mut self,
        element: Element<'_, '_>,
        namespaces: &Namespaces<'_>,
        base: &Base<'_>,
        depth: usize,
    ) {
        match element.local() {
            "group" | "content" if depth < MAX_GROUP_DEPTH => {
                if let Some(href) =
                    attribute(element, "url").filter(|_| element.local() == "content")
                {
                    let number = |name| attribute(element, name)?.parse().ok();
                    let duration = attribute(element, "duration");
                    self.media.push(Link {
                        media_type: media_type(element),
                        length: number("fileSize"),
                        duration: duration.as_deref().and_then(seconds),
                        ..Link::new(ENCLOSURE, &base.resolve(href))
                    });
                }
                self.read(element, namespaces, base, depth + 1);
            }
            "thumbnail" => self.thumbnails.extend(attribute(element, "url").map(|href| Link {
                media_type: Some("image/*".to_owned()),
                ..Link::new(ENCLOSURE, &base.resolve(href))
            })),
            "title" => self.title = self.title.take().or_else(|| text(element)),
            "description" | "text" if self.text.is_none() => {
                let kind =
                    ContentType::named(attribute(element, "type").as_deref().unwrap_or("plain"));
                let is_html = kind == ContentType::Html;
                let kind = if is_html { kind } else { ContentType::Text };
                let markup = |text| if is_html { base.resolve_markup(text) } else { text };
                self.text = text(element).map(|text| (markup(text), kind));
            }
            "credit" => self.author = self.author.take().or_else(|| text(element)),
            _ => {}
        }
    }

    fn of_itunes(&mut self, element: Element<'_, '_>, base: &Base<'_>) {
        let kept = |known: &mut Option<String>| *known = known.take().or_else(|| text(element));
        match element.local() {
            "title" => kept(&mut self.title),
            "author" => kept(&mut self.author),
            // A summary is more detailed than a subtitle.
            "summary" => self.summary = text(element).or(self.summary.take()),
            "subtitle" => kept(&mut self.summary),
            "duration" => self.duration = text(element).as_deref().and_then(seconds),
            "image" => self.thumbnails.extend(attribute(element, "href").map(|href| Link {
                media_type: Some("image/*".to_owned()),
                ..Link::new(ENCLOSURE, &base.resolve(href))
            })),
            _ => {}
        }
    }
}

/// Whether an address is an absolute web address.
fn is_web(address: &str) -> bool {
    let has = |scheme: &str| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    has("http://") || has("https://")
}

/// Returns the media type of a `media:content`, or the range that its `medium` implies.
fn media_type(element: Element<'_, '_>) -> Option<String> {
    attribute(element, "type").or_else(|| match attribute(element, "medium")?.as_str() {
        medium @ ("image" | "audio" | "video") => Some(format!("{medium}/*")),
        _ => None,
    })
}

/// Parses a duration, a number of seconds or `mm:ss` or `hh:mm:ss`, and returns seconds.
pub(crate) fn seconds(text: &str) -> Option<u32> {
    let mut parts = text.trim().split(':');
    let mut seconds: u32 = 0;
    for part in parts.by_ref().take(3) {
        let whole = part.split('.').next().unwrap_or_default();
        seconds = seconds.checked_mul(60)?.checked_add(whole.trim().parse().ok()?)?;
    }
    parts.next().is_none().then_some(seconds).filter(|seconds| *seconds > 0)
}
