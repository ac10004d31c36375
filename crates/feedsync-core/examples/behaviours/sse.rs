//! The behaviours of SSE 0.91, in the driver's JSON.

use std::collections::BTreeSet;

use feedsync_core::sse::{
    Change, Claim, Conflict, Date, History, Item, Stamp, TreePosition, VersionNumber, add_conflict,
    cycles, merge, order,
};
use feedsync_core::{By, ItemId, Outcome};
use serde_json::{Value, json};

use crate::feedsync_item::{optional, text};

/// Response to an SSE request; `None` if the request is not one.
pub(crate) fn answer(request: &Value) -> Option<Result<Value, String>> {
    let result = match request.get("op")?.as_str()? {
        "sse_create" => create(request),
        "sse_update" => update(request),
        "sse_merge" => return Some(merged(request)),
        "sse_add_conflict" => added_conflict(request),
        "sse_order" => ordered(request),
        "sse_cycles" => without_cycles(request),
        _ => return None,
    };
    Some(result.map(|result| json!({ "result": result })))
}

fn create(request: &Value) -> Result<Value, String> {
    let content = text(request, "content")?.to_owned();
    Ok(item_to_json(&Item::create(id_of(request)?, content, stamp_of(request)?)))
}

fn update(request: &Value) -> Result<Value, String> {
    let mut item = item_of(request, "item")?;
    let keep = optional(request, "keep", Value::as_u64)?;
    let change = Change {
        payload: content_of(request)?,
        deleted: optional(request, "deleted", Value::as_bool)?.unwrap_or(false),
        stamp: stamp_of(request)?,
        keep: keep.map(|keep| usize::try_from(keep).unwrap_or(usize::MAX)),
    };
    item.change(change).map_err(|error| error.to_string())?;
    Ok(item_to_json(&item))
}

fn merged(request: &Value) -> Result<Value, String> {
    let local = match request.get("local") {
        None | Some(Value::Null) => None,
        Some(_) => Some(item_of(request, "local")?),
    };
    let incoming = item_of(request, "incoming")?;
    let (item, outcome) = merge(local, incoming).map_err(|error| error.to_string())?;
    let outcome = match outcome {
        Outcome::Added => "added",
        Outcome::Unchanged => "unchanged",
        Outcome::Updated => "updated",
        Outcome::Conflict => "conflict",
    };
    Ok(json!({ "result": item_to_json(&item), "outcome": outcome }))
}

fn added_conflict(request: &Value) -> Result<Value, String> {
    let mut list = conflicts_of(request, "list")?;
    let new = request.get("new").ok_or("new: a conflict is required")?;
    add_conflict(&mut list, conflict(new).map_err(|error| format!("new: {error}"))?);
    Ok(conflicts_to_json(&list))
}

fn ordered(request: &Value) -> Result<Value, String> {
    let claim = |value: &Value| {
        let index = optional(value, "pos", Value::as_u64)?.ok_or("pos: a number is required")?;
        Ok(Claim { id: id_of(value)?, position: TreePosition { parent: parent_of(value)?, index } })
    };
    let claims = each(request, "claims", claim)?;
    all_different("claims", claims.iter().map(|claim| &claim.id))?;
    let tree = order(&claims).into_iter().map(|(parent, children)| {
        let children: Vec<&str> = children.iter().map(ItemId::as_str).collect();
        (parent.map_or_else(String::new, |id| id.to_string()), json!(children))
    });
    Ok(Value::Object(tree.collect()))
}

fn without_cycles(request: &Value) -> Result<Value, String> {
    let nodes = each(request, "nodes", |node| {
        let flag = optional(node, "conflict", Value::as_bool)?.unwrap_or(false);
        Ok((id_of(node)?, parent_of(node)?, flag))
    })?;
    all_different("nodes", nodes.iter().map(|(id, ..)| id))?;
    let moved = cycles(nodes.iter().map(|(id, parent, _)| (id, parent.as_ref())));
    let nodes = nodes.iter().map(|(id, parent, conflict)| {
        let moves = moved.contains(id);
        let parent = parent.as_ref().filter(|_| !moves).map(ItemId::as_str);
        json!({ "id": id.as_str(), "parent": parent, "conflict": *conflict || moves })
    });
    Ok(nodes.collect())
}

/// Reads the members of a list one by one; an error names its member.
fn each<T>(
    object: &Value,
    name: &str,
    read: impl Fn(&Value) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let list = optional(object, name, Value::as_array)?.map_or(&[][..], Vec::as_slice);
    let named = |(index, value)| read(value).map_err(|error| format!("{name}[{index}]: {error}"));
    list.iter().enumerate().map(named).collect()
}

fn all_different<'a>(name: &str, ids: impl Iterator<Item = &'a ItemId>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (index, id) in ids.enumerate() {
        if !seen.insert(id) {
            return Err(format!("{name}[{index}]: id: {id} was there before"));
        }
    }
    Ok(())
}

fn id_of(object: &Value) -> Result<ItemId, String> {
    ItemId::new(text(object, "id")?).map_err(|error| format!("id: {error}"))
}

fn parent_of(object: &Value) -> Result<Option<ItemId>, String> {
    match optional(object, "parent", Value::as_str)? {
        None | Some("") => Ok(None),
        Some(id) => ItemId::new(id).map(Some).map_err(|error| format!("parent: {error}")),
    }
}

fn content_of(object: &Value) -> Result<Option<String>, String> {
    Ok(optional(object, "content", Value::as_str)?.map(str::to_owned))
}

fn stamp_of(object: &Value) -> Result<Stamp, String> {
    let when = optional(object, "when", Value::as_str)?.map(str::parse::<Date>).transpose();
    let by = optional(object, "by", Value::as_str)?.filter(|by| !by.is_empty()).map(By::new);
    let when = when.map_err(|error| format!("when: {error}"))?;
    let by = by.transpose().map_err(|error| format!("by: {error}"))?;
    Stamp::new(when, by).map_err(|error| error.to_string())
}

fn version_of(object: &Value) -> Result<VersionNumber, String> {
    optional(object, "version", Value::as_u64)?
        .and_then(VersionNumber::new)
        .ok_or_else(|| "version: a whole number from 1 is required".to_owned())
}

fn item_of(request: &Value, name: &str) -> Result<Item<String>, String> {
    let value = request.get(name).ok_or_else(|| format!("{name}: an item is required"))?;
    item(value).map_err(|error| format!("{name}: {error}"))
}

fn item(value: &Value) -> Result<Item<String>, String> {
    let history = value.get("history").ok_or("history: an object is required")?;
    let of_history = |error| format!("history: {error}");
    Ok(Item {
        id: id_of(value)?,
        version: version_of(value)?,
        deleted: optional(value, "deleted", Value::as_bool)?.unwrap_or(false),
        conflict: optional(value, "conflict", Value::as_bool)?.unwrap_or(false),
        history: History {
            latest: stamp_of(history).map_err(of_history)?,
            updates: each(history, "updates", stamp_of).map_err(of_history)?,
        },
        conflicts: conflicts_of(value, "conflicts")?,
        payload: text(value, "content")?.to_owned(),
    })
}

fn conflicts_of(object: &Value, name: &str) -> Result<Vec<Conflict<String>>, String> {
    each(object, name, conflict)
}

fn conflict(value: &Value) -> Result<Conflict<String>, String> {
    Ok(Conflict {
        version: version_of(value)?,
        stamp: stamp_of(value)?,
        payload: content_of(value)?,
    })
}

fn item_to_json(item: &Item<String>) -> Value {
    let mut history = stamp_to_json(&item.history.latest);
    history["updates"] = item.history.updates.iter().map(stamp_to_json).collect();
    json!({
        "id": item.id.as_str(),
        "version": item.version.get(),
        "deleted": item.deleted,
        "conflict": item.conflict,
        "content": item.payload,
        "history": history,
        "conflicts": conflicts_to_json(&item.conflicts),
    })
}

fn stamp_to_json(stamp: &Stamp) -> Value {
    json!({ "when": stamp.when().map(Date::to_string), "by": stamp.by().map(By::as_str) })
}

/// Conflicts are a set: sorted by version, `when`, `by`, then content.
fn conflicts_to_json(conflicts: &[Conflict<String>]) -> Value {
    let mut sorted: Vec<_> = conflicts.iter().collect();
    sorted.sort_by_key(|conflict| (conflict.version, &conflict.stamp, &conflict.payload));
    let shown = sorted.into_iter().map(|conflict| {
        let mut shown = stamp_to_json(&conflict.stamp);
        shown["version"] = json!(conflict.version.get());
        shown["content"] = json!(conflict.payload);
        shown
    });
    shown.collect()
}
