//! Requests that change state.

use feedsync_reading_state::Title;

use super::read::items;
use super::stream::{feed_name, label, parse_stream};
use super::{MAX_FEEDS, Request, SubscriptionEdit, SubscriptionOperation};
use crate::fault::Fault;
use crate::marking::Marking;
use crate::parameters::Parameters;
use crate::selection::{MAX_STREAMS, Stream};
use crate::shown::Label;

pub(super) fn subscription(parameters: &Parameters) -> Result<Request, Fault> {
    let operation = match parameters.needed("ac")? {
        "subscribe" => SubscriptionOperation::Subscribe,
        "unsubscribe" => SubscriptionOperation::Unsubscribe,
        "edit" => SubscriptionOperation::Edit,
        _ => return Err(Fault::of("ac", "must be subscribe, unsubscribe or edit")),
    };
    let mut titles = parameters.all("t");
    let mut feeds = Vec::new();
    for stream in parameters.some("s", MAX_FEEDS)? {
        let feed = stream
            .strip_prefix("feed/")
            .ok_or_else(|| Fault::of("s", "must have the form feed/ADDRESS"))?;
        let feed = feed_name(feed).map_err(|error| Fault::of("s", error))?;
        feeds.push((feed, titles.next().and_then(Title::cleaned)));
    }
    if feeds.is_empty() {
        return Err(Fault::Missing { name: "s" });
    }
    let (add, remove) = (labels("a", parameters)?, labels("r", parameters)?);
    Ok(Request::Edit(SubscriptionEdit { operation, feeds, add, remove }))
}

pub(super) fn quick_add(parameters: &Parameters) -> Result<Request, Fault> {
    let given = parameters.needed("quickadd")?;
    let address = given.strip_prefix("feed/").unwrap_or(given);
    let address = address.parse().map_err(|error| Fault::of("quickadd", error))?;
    Ok(Request::QuickAdd(address))
}

pub(super) fn rename_tag(parameters: &Parameters) -> Result<Request, Fault> {
    let from = tags(parameters)?.into_iter().next().ok_or(Fault::Missing { name: "s" })?;
    let to = label(parameters.needed("dest")?).map_err(|error| Fault::of("dest", error))?;
    Ok(Request::RenameTag { from, to })
}

pub(super) fn disable_tag(parameters: &Parameters) -> Result<Request, Fault> {
    let labels = tags(parameters)?;
    if labels.is_empty() {
        return Err(Fault::Missing { name: "s" });
    }
    Ok(Request::DisableTag(labels))
}

/// Removals are applied before additions, independent of their order in the request. "Kept unread" means unread;
/// removing only that state changes nothing.
pub(super) fn edit_tag(parameters: &Parameters) -> Result<Request, Fault> {
    let mut marking = Marking { articles: items(parameters)?, ..Marking::default() };
    for (name, is_added) in [("r", false), ("a", true)] {
        for stream in parameters.some(name, MAX_STREAMS)? {
            match parse_stream(stream).map_err(|error| Fault::of(name, error))? {
                Stream::Read => marking.read = Some(is_added),
                Stream::Unread if is_added => marking.read = Some(false),
                Stream::Starred => marking.starred = Some(is_added),
                Stream::Label(label) => {
                    let tag = label.tag().map_err(|error| Fault::of(name, error))?;
                    if is_added { marking.tag.push(tag) } else { marking.untag.push(tag) }
                }
                Stream::Unread | Stream::Nothing => {}
                _ => return Err(Fault::of(name, "this state cannot be set or removed")),
            }
        }
    }
    marking.untag.retain(|tag| !marking.tag.contains(tag));
    Ok(Request::Mark(marking))
}

/// Labels given by their streams, or by their names alone.
fn tags(parameters: &Parameters) -> Result<Vec<Label>, Fault> {
    let mut found = labels("s", parameters)?;
    for name in parameters.some("t", MAX_STREAMS)? {
        found.push(name.parse().map_err(|error| Fault::of("t", error))?);
    }
    Ok(found)
}

fn labels(name: &'static str, parameters: &Parameters) -> Result<Vec<Label>, Fault> {
    let given = parameters.some(name, MAX_STREAMS)?.into_iter();
    given.map(|stream| label(stream).map_err(|error| Fault::of(name, error))).collect()
}
