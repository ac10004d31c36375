//! Items as texts: FeedSync JSON objects.

use feedsync_core::{By, Item, Payload, Refusal, Sequence, check_bounds};
use feedsync_formats::ReadOptions;
use feedsync_formats::json::{self, push_string, push_unmapped};

use crate::failure::Failure;

/// Maximum number of bytes of the versions of an item together, so that one item always fits into one response of a
/// hub.
const MAX_ITEM_BYTES: usize = 16 << 20;

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

/// Shortens the histories of an item and checks all of its bounds. An item that exceeded a bound `before` may still
/// exceed it but not grow, so that it can be deleted. The conflicts are put into the order in which 3.3 would pick
/// winners among them, so that every endpoint shows them alike.
pub(crate) fn bounded(
    mut item: Item<Payload>,
    before: Option<&Item<Payload>>,
) -> Result<Item<Payload>, Refusal> {
    item.shorten_histories();
    check_bounds(&item, before)?;
    let (bytes, most) = (size(&item), MAX_ITEM_BYTES);
    if bytes > most && before.is_none_or(|before| bytes > size(before)) {
        return Err(Refusal::TooLarge { bytes, most });
    }
    let order: Vec<_> = item.ranked_conflicts().into_iter().map(|(index, _)| index).collect();
    let mut conflicts: Vec<_> = std::mem::take(&mut item.conflicts).into_iter().map(Some).collect();
    item.conflicts = order.into_iter().filter_map(|index| conflicts[index].take()).collect();
    Ok(item)
}

fn size(item: &Item<Payload>) -> usize {
    item.versions().map(|version| version.payload.text().len()).sum()
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
