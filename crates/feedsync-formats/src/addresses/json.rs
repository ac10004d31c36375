//! Addresses in a JSON Feed (version 1.1, "Top-level" to "Attachments").

use std::ops::Range;

use super::Notation;
use crate::json::{Kind, Node, check_grammar};
use crate::options::Limits;

/// Beginning of the `version` of every JSON Feed.
const VERSION: &str = "https://jsonfeed.org/version/";

/// Members that contain addresses. `id` is an identifier, and `content_html` is content.
const NAMES: [&str; 10] = [
    "avatar",
    "banner_image",
    "external_url",
    "favicon",
    "feed_url",
    "home_page_url",
    "icon",
    "image",
    "next_url",
    "url",
];

/// Members with objects, or with arrays of objects, that contain addresses.
const INSIDE: [&str; 5] = ["attachments", "author", "authors", "hubs", "items"];

/// Returns the ranges of the addresses in order. A text that is not a JSON Feed has none.
pub(super) fn addresses(text: &str, limits: &Limits) -> Vec<(Range<usize>, Notation)> {
    let mut found = Vec::new();
    if check_grammar(text, limits.depth).is_err() {
        return found;
    }
    let root = Node::of_checked(text);
    let version = root.member("version").and_then(|member| member.value.string());
    if version.is_some_and(|version| version.starts_with(VERSION)) {
        // Feeds have items, and items have attachments and authors.
        collect(root, 3, &mut found);
    }
    found
}

fn collect(object: Node<'_>, depth: usize, found: &mut Vec<(Range<usize>, Notation)>) {
    for member in object.members() {
        let name = &*member.name;
        if member.value.kind() == Kind::String && NAMES.contains(&name) {
            let quoted = member.value.span();
            found.push((quoted.start + 1..quoted.end - 1, Notation::Json));
        } else if depth > 1 && INSIDE.contains(&name) {
            match member.value.kind() {
                Kind::Array => {
                    member.value.elements().for_each(|part| collect(part, depth - 1, found));
                }
                _ => collect(member.value, depth - 1, found),
            }
        }
    }
}
