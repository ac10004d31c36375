//! FeedSync items in the driver's JSON.

use feedsync_core::{
    By, Edit, History, Item, ItemId, Sequence, Stamp, Timestamp, Update, Updates, Version,
};
use serde_json::{Value, json};

/// A member that must be a string.
pub(crate) fn text<'a>(object: &'a Value, name: &str) -> Result<&'a str, String> {
    object.get(name).and_then(Value::as_str).ok_or_else(|| format!("{name}: a string is required"))
}

/// A member that may be absent or null.
pub(crate) fn optional<'a, T>(
    object: &'a Value,
    name: &str,
    read: impl FnOnce(&'a Value) -> Option<T>,
) -> Result<Option<T>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(value).map(Some).ok_or_else(|| format!("{name}: of the wrong type")),
    }
}

/// The stamp of a request: `when`, `by`, or both.
pub(crate) fn stamp_of(request: &Value) -> Result<Stamp, String> {
    let (when, by) = when_and_by(request)?;
    Stamp::partial(when, by).map_err(|error| error.to_string())
}

/// The edit of a request: its `content`, if any.
pub(crate) fn edit_of(request: &Value, deleted: Option<bool>) -> Result<Edit<String>, String> {
    let payload = optional(request, "content", Value::as_str)?.map(str::to_owned);
    Ok(Edit { payload, deleted })
}

/// A member that must be an item.
pub(crate) fn required_item(request: &Value, name: &str) -> Result<Item<String>, String> {
    let value = request.get(name).ok_or_else(|| format!("{name}: an item is required"))?;
    item(value).map_err(|error| format!("{name}: {error}"))
}

fn item(value: &Value) -> Result<Item<String>, String> {
    let id = ItemId::new(text(value, "id")?).map_err(|error| format!("id: {error}"))?;
    let mut conflicts = Vec::new();
    gather_conflicts(value, &id, &mut conflicts)?;
    // An item's conflicts are a set; the driver numbers them in display order.
    conflicts.sort_by_cached_key(|version| sort_key(&id, version));
    Ok(Item { winner: version(value)?, id, conflicts })
}

/// Conflicts of conflicts are flattened into one list.
fn gather_conflicts(
    value: &Value,
    id: &ItemId,
    conflicts: &mut Vec<Version<String>>,
) -> Result<(), String> {
    let list = optional(value, "conflicts", Value::as_array)?.map_or(&[][..], Vec::as_slice);
    for (index, conflict) in list.iter().enumerate() {
        let of_conflict = |error: String| format!("conflicts[{index}]: {error}");
        if text(conflict, "id").map_err(of_conflict)? != id.as_str() {
            return Err(of_conflict("id: not that of the item".into()));
        }
        conflicts.push(version(conflict).map_err(of_conflict)?);
        gather_conflicts(conflict, id, conflicts).map_err(of_conflict)?;
    }
    Ok(())
}

fn version(value: &Value) -> Result<Version<String>, String> {
    let updates = counter(value, "updates")?;
    let entries =
        value.get("history").and_then(Value::as_array).ok_or("history: a list is required")?;
    let updates_known = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| update(entry).map_err(|error| format!("history[{index}]: {error}")))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Version {
        updates: Updates::new(updates).map_err(|error| format!("updates: {error}"))?,
        deleted: optional(value, "deleted", Value::as_bool)?.unwrap_or(false),
        noconflicts: optional(value, "noconflicts", Value::as_bool)?.filter(|&set| set),
        history: History::from_updates(updates_known).ok_or("history: must not be empty")?,
        payload: text(value, "content")?.to_owned(),
    })
}

fn update(entry: &Value) -> Result<Update, String> {
    let sequence =
        Sequence::new(counter(entry, "sequence")?).map_err(|error| format!("sequence: {error}"))?;
    let (when, by) = when_and_by(entry)?;
    Update::new(sequence, when, by).map_err(|error| error.to_string())
}

fn counter(value: &Value, name: &str) -> Result<u32, String> {
    value.get(name).and_then(Value::as_u64).and_then(|number| number.try_into().ok()).ok_or_else(
        || format!("{name}: a whole number from 1 to {} is required", feedsync_core::MAX_COUNTER),
    )
}

fn when_and_by(value: &Value) -> Result<(Option<Timestamp>, Option<By>), String> {
    let when = optional(value, "when", Value::as_str)?.map(Timestamp::parse).transpose();
    let by = optional(value, "by", Value::as_str)?.map(By::new).transpose();
    Ok((
        when.map_err(|error| format!("when: {error}"))?,
        by.map_err(|error| format!("by: {error}"))?,
    ))
}

/// An item in the driver's JSON. Its conflicts are sorted, since they are a set.
pub(crate) fn item_to_json(item: &Item<String>) -> Value {
    let mut conflicts: Vec<_> = item.conflicts.iter().collect();
    conflicts.sort_by_cached_key(|version| sort_key(&item.id, version));
    let conflicts =
        conflicts.into_iter().map(|version| version_to_json(&item.id, version, json!([])));
    version_to_json(&item.id, &item.winner, conflicts.collect())
}

fn sort_key(id: &ItemId, version: &Version<String>) -> (Updates, String, String, Sequence, String) {
    let dot = version.dot();
    (
        version.updates,
        dot.when().map(|when| when.to_string()).unwrap_or_default(),
        dot.by().map(|by| by.to_string()).unwrap_or_default(),
        dot.sequence(),
        version_to_json(id, version, json!([])).to_string(),
    )
}

fn version_to_json(id: &ItemId, version: &Version<String>, conflicts: Value) -> Value {
    let history = version.history.updates().iter().map(|update| {
        json!({
            "sequence": update.sequence().get(),
            "when": update.when().map(|when| when.to_string()),
            "by": update.by().map(By::as_str),
        })
    });
    json!({
        "id": id.as_str(),
        "updates": version.updates.get(),
        "deleted": version.deleted,
        "noconflicts": version.noconflicts == Some(true),
        "content": version.payload,
        "history": history.collect::<Value>(),
        "conflicts": conflicts,
    })
}
