//! Details of a feed in JSON: the texts as members, markup as members that no format defines.

use feedsync_core::Format;

use super::FeedDetails;
use super::markup::{HeadMarkup, Unfit, is_defined};
use super::write::PLACEHOLDER_ATTRIBUTE;
use crate::head::FeedHead;
use crate::json::{Kind, Node, close, push_text};

/// Reads the head of a document. `description` and `authors` are members of JSON Feed.
pub(crate) fn read_json(root: Node<'_>) -> FeedDetails {
    let mut details = FeedDetails::default();
    let mut markup = HeadMarkup::none(Format::Json);
    let mut is_full = false;
    for member in root.members() {
        let text = || member.value.string().unwrap_or_default();
        match &*member.name {
            "subtitle" | "description" => details.fill(|details| &mut details.subtitle, &text()),
            "rights" => details.fill(|details| &mut details.rights, &text()),
            "author" => {
                let name = name(member.value).unwrap_or_default();
                details.fill(|details| &mut details.author, &name);
            }
            "authors" => {
                let names: Vec<_> = member.value.elements().filter_map(name).collect();
                details.fill(|details| &mut details.author, &names.join(", "));
            }
            name if is_defined(name) => {}
            _ if is_full => details.left_out += 1,
            _ => match markup.push(member.raw()) {
                Ok(()) | Err(Unfit::Misplaced(_)) => {}
                Err(unfit) => {
                    is_full = unfit == Unfit::TooLarge;
                    details.left_out += 1;
                }
            },
        }
    }
    details.markup = markup.some();
    details
}

/// Returns the name of an author, who may be a plain string. A placeholder author has no name.
fn name(author: Node<'_>) -> Option<String> {
    if author.kind() == Kind::String {
        return author.string().map(String::from);
    }
    let is_placeholder = author.member(&format!("fs:{PLACEHOLDER_ATTRIBUTE}")).is_some();
    let name = author.member("name").filter(|_| !is_placeholder)?;
    name.value.string().map(String::from)
}

/// Appends author, subtitle, rights and the JSON markup, each followed by a comma.
pub(crate) fn push_json(out: &mut String, head: &FeedHead<'_>) {
    let named = head.details.and_then(|details| details.author.as_deref());
    let author = named.unwrap_or(head.author);
    if !author.is_empty() {
        out.push_str("\"author\":{");
        push_text(out, "name", author);
        if named.is_none() {
            push_text(out, &format!("fs:{PLACEHOLDER_ATTRIBUTE}"), "true");
        }
        close(out, "},");
    }
    let Some(details) = head.details else { return };
    for (name, text) in [("subtitle", &details.subtitle), ("rights", &details.rights)] {
        if let Some(text) = text {
            push_text(out, name, text);
        }
    }
    let markup = details.markup.iter().flat_map(|markup| markup.pieces_for(Format::Json));
    markup.for_each(|member| {
        out.push_str(member);
        out.push(',');
    });
}
