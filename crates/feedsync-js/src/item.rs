//! Items as texts: FeedSync JSON objects.

use feedsync_core::{By, Item, Payload, Refusal, Sequence};
use feedsync_formats::ReadOptions;
use feedsync_formats::json::{self, push_string, push_unmapped};

use crate::failure::Failure;

/// Reads an item from its text.
pub(crate) fn read_item(text: &str) -> Result<Item<Payload>, String> {
    let document = format!("{{\"items\":[{text}]}}");
    let reading = json::read_unmapped(document.as_bytes(), &ReadOptions::strict());
    let mut reading = reading.map_err(|error| error.to_string())?;
    match (reading.feed.items.pop(), reading.refused.first()) {
        (Some(item), _) => Ok(item),
        (None, Some(refused)) => Err(refused.reason.message.clone()),
        (None, None) => Err("it has no \"sync\"".into()),
    }
}

/// Appends the text of an item as a string, so that a script gets its exact bytes.
pub(crate) fn push_item(out: &mut String, item: &Item<Payload>) {
    let mut text = String::new();
    push_unmapped(&mut text, item);
    push_string(out, &text);
}

/// An item within the bounds of [`feedsync_core::bounded`]. The conflicts are put into the order in which 3.3 would pick
/// winners among them, so that every endpoint shows them alike.
pub(crate) fn bounded(
    item: Item<Payload>,
    before: Option<&Item<Payload>>,
) -> Result<Item<Payload>, Refusal> {
    let mut item = feedsync_core::bounded(item, before)?;
    let order: Vec<_> = item.ranked_conflicts().into_iter().map(|(index, _)| index).collect();
    let mut conflicts: Vec<_> = std::mem::take(&mut item.conflicts).into_iter().map(Some).collect();
    item.conflicts = order.into_iter().filter_map(|index| conflicts[index].take()).collect();
    Ok(item)
}

/// The response with an item after an edit.
pub(crate) fn edited(
    item: &Item<Payload>,
    outcome: &str,
    line: Option<(&By, Sequence)>,
) -> Result<String, Failure> {
    let mut out = String::from("{\"outcome\":");
    push_string(&mut out, outcome);
    if let Some((by, sequence)) = line {
        out.push_str(",\"issued\":{");
        push_string(&mut out, by.as_str());
        out.push(':');
        out.push_str(&sequence.to_string());
        out.push('}');
    }
    out.push_str(",\"item\":");
    push_item(&mut out, item);
    out.push('}');
    Ok(out)
}
