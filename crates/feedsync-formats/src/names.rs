//! Names that hubs and clients use for feeds in HTTP: media types, and a link relation of FeedSync.

use feedsync_core::Format;

/// Relation of a link to a collection's FeedSync feed on a hub. The feed accepts `POST`.
pub const CHANGES_RELATION: &str = "urn:feedsync:1:changes";

/// Media types of all formats for headers such as `Accept`, without preference.
pub const MEDIA_TYPES: &str =
    "application/atom+xml, application/rss+xml, text/x-opml, application/json, application/xml";

/// Media type in which a format is sent.
pub const fn media_type(format: Format) -> &'static str {
    media_types(format)[0]
}

/// All media types that are accepted for a format. The first is the one in which it is sent.
pub const fn media_types(format: Format) -> &'static [&'static str] {
    match format {
        Format::Atom => &["application/atom+xml"],
        Format::Rss => &["application/rss+xml"],
        Format::Opml => &["text/x-opml", "text/x-opml+xml", "application/opml+xml"],
        Format::Json => &["application/json", "application/feedsync+json"],
        Format::Pox => &["application/xml", "text/xml"],
    }
}

/// Suffix of the addresses and files of a format, with its dot.
pub const fn suffix(format: Format) -> &'static str {
    match format {
        Format::Atom => ".atom",
        Format::Rss => ".rss",
        Format::Opml => ".opml",
        Format::Json => ".json",
        Format::Pox => ".xml",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_each_format_once() {
        assert_eq!(MEDIA_TYPES, Format::ALL.map(media_type).join(", "));
    }
}
