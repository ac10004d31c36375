//! Items as text for people and as JSON for programs.

pub(crate) mod people;

use feedsync_core::{Item, Payload, Update, Version};
use feedsync_endpoint::Period;
use feedsync_fetch::without_credentials;
use feedsync_formats::{Entry, entry};
use feedsync_store::{Collection, Discarded, Moment, Remote, StoredItem};
use serde_json::{Map, Value, json};

/// JSON of a stored item, as in `ls --json`.
pub(crate) fn item(stored: &StoredItem) -> Value {
    with_change(item_of_file(&stored.item), stored)
}

/// JSON of an item in a file, where changes have no numbers; otherwise as in `ls --json`.
pub(crate) fn item_of_file(item: &Item<Payload>) -> Value {
    let mut object = Map::new();
    object.insert("id".into(), item.id.as_str().into());
    version_members(&mut object, &item.winner);
    object.insert("noconflicts".into(), item.noconflicts().into());
    object.insert("conflicts".into(), item.conflicts.len().into());
    Value::Object(object)
}

/// JSON of an item with its versions and their histories, as in `show --json`.
pub(crate) fn whole_item(stored: &StoredItem) -> Value {
    with_change(whole_item_of_file(&stored.item), stored)
}

/// JSON of an item in a file with its versions and their histories.
pub(crate) fn whole_item_of_file(item: &Item<Payload>) -> Value {
    let mut value = item_of_file(item);
    value["history"] = history(&item.winner);
    value["payload"] = (*item.winner.payload.text()).into();
    value["conflicts"] = conflicts(item);
    value
}

fn with_change(mut value: Value, stored: &StoredItem) -> Value {
    value["change"] = stored.number.get().into();
    value["changed"] = moment(stored.edited);
    value
}

/// JSON of an item and its conflicts: an element of `conflicts --json`.
pub(crate) fn conflict(item: &Item<Payload>) -> Value {
    json!({
        "id": item.id.as_str(),
        "winner": version(&item.winner),
        "conflicts": conflicts(item),
    })
}

fn conflicts(item: &Item<Payload>) -> Value {
    let numbered = item.ranked_conflicts().into_iter().enumerate();
    let each = numbered.map(|(index, (_, conflict))| {
        let mut value = version(conflict);
        value["n"] = (index + 1).into();
        value
    });
    each.collect()
}

/// JSON of a version with its history.
fn version(version: &Version<Payload>) -> Value {
    let mut object = Map::new();
    version_members(&mut object, version);
    object.insert("history".into(), history(version));
    Value::Object(object)
}

fn version_members(object: &mut Map<String, Value>, version: &Version<Payload>) {
    let Entry { title, content, content_type, .. } = entry(&version.payload);
    object.insert("title".into(), title.into());
    object.insert("content".into(), content.into());
    object.insert("content_type".into(), content_type.name().into());
    object.insert("updates".into(), version.updates.get().into());
    object.insert("deleted".into(), version.deleted.into());
    object.insert("format".into(), version.payload.format().name().into());
    object.insert("when".into(), when(version.dot()));
    object.insert("by".into(), by(version.dot()));
    object.insert("sequence".into(), version.dot().sequence().get().into());
}

fn history(version: &Version<Payload>) -> Value {
    let update = |update: &Update| json!({ "sequence": update.sequence().get(), "when": when(update), "by": by(update) });
    version.history.updates().iter().map(update).collect()
}

fn when(update: &Update) -> Value {
    update.when().map(|when| when.to_string()).into()
}

fn by(update: &Update) -> Value {
    update.by().map(|by| by.as_str()).into()
}

pub(crate) fn moment(moment: Moment) -> Value {
    moment.timestamp().map(|when| when.to_string()).into()
}

/// Formats a time for a table.
pub(crate) fn shown(moment: Moment) -> String {
    moment.timestamp().map(|when| when.to_string()).unwrap_or_default()
}

/// JSON of a collection: an element of `collection list --json`.
pub(crate) fn collection(collection: &Collection) -> Value {
    json!({
        "name": collection.name.as_str(),
        "title": collection.title,
        "format": collection.format.name(),
        "items": collection.live,
        "deleted": collection.deleted,
        "conflicts": collection.conflicted,
        "changes": collection.last.get(),
        "until": collection.until(collection.last).to_string(),
        "feed": collection.feed_id,
        "changed": moment(collection.edited),
    })
}

/// JSON of a remote: an element of `remote list --json`.
pub(crate) fn remote(remote: &Remote, collection: Option<&Collection>) -> Value {
    let state = &remote.state;
    json!({
        "collection": remote.collection.as_str(),
        "number": remote.id.0,
        "name": remote.name,
        "url": without_credentials(&remote.url),
        "until": state.until,
        "pending": collection.map(|collection| state.pending(collection.last)),
        "read_only": state.read_only,
        "every": remote.subscription.as_ref().map(|at| Period::from(at.every).to_string()),
        "plain": remote.subscription.as_ref().map(|at| at.plain),
        "due": remote.subscription.as_ref().and_then(|at| at.due).map(moment),
        "succeeded": state.succeeded.map(moment),
        "failures": state.failures,
        "failure": state.failure,
    })
}

/// JSON of a discarded item: an element of `ls --discarded --json`.
pub(crate) fn discarded(discarded: &Discarded) -> Value {
    let mut object = Map::new();
    object.insert("id".into(), discarded.item.id.as_str().into());
    version_members(&mut object, &discarded.item.winner);
    object.insert("conflicts".into(), discarded.item.conflicts.len().into());
    object.insert("reason".into(), discarded.reason.as_str().into());
    object.insert("discarded".into(), moment(discarded.at));
    Value::Object(object)
}

/// Title of an item for a list; a substitute if it has none.
pub(crate) fn title(payload: &Payload) -> String {
    entry(payload).heading().unwrap_or_else(|| "(untitled)".to_owned())
}

/// Formats a version as plain text to read or compare: the title, an empty line, the content.
pub(crate) fn readable(payload: &Payload) -> String {
    let entry = entry(payload);
    let mut text = entry.title.clone().unwrap_or_default();
    text.push('\n');
    if let Some(content) = entry.plain_content().or(entry.content).or(entry.summary) {
        text.push('\n');
        text.push_str(&content);
        text.push('\n');
    }
    text
}

/// Time and author of an update.
pub(crate) fn signed(update: &Update) -> String {
    match (update.when(), update.by()) {
        (Some(when), Some(by)) => format!("{when}  {by}"),
        (Some(when), None) => when.to_string(),
        (None, Some(by)) => by.to_string(),
        // The core refuses such an update.
        (None, None) => String::new(),
    }
}
