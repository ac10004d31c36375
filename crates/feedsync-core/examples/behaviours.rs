//! Runs the library's behaviours for test suites in any language. Standard input has one JSON object
//! per line, and standard output one response per line, in order. The program contains no logic that
//! the library lacks.
//!
//! ```text
//! {"op":"create","id":"milk","content":"milk","by":"ann","when":"2026-01-01T00:00:00Z"}
//! {"result":{"conflicts":[],"content":"milk","deleted":false,...}}
//! ```
//!
//! Operations: `create`, `update`, `delete`, `undelete`, `resolve`, `merge`, `subsumed`, `x_wins`, and
//! those of SSE 0.91 (`sse_create`, `sse_update`, `sse_merge`, `sse_add_conflict`, `sse_order`,
//! `sse_cycles`). The response to an invalid request is `{"error":"..."}`, and the next line is
//! processed.

#[path = "behaviours/feedsync_item.rs"]
mod feedsync_item;
#[path = "behaviours/sse.rs"]
mod sse;

use std::io::{self, BufRead, Write};

use feedsync_core::{Creation, Edit, Item, ItemId, Keep, Outcome, Resolution, Resolved, merge};
use feedsync_item::{edit_of, item_to_json, optional, required_item, stamp_of, text};
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = serde_json::from_str(&line)
            .map_err(|error| format!("not a JSON object: {error}"))
            .and_then(|request| answer(&request))
            .unwrap_or_else(|error| json!({ "error": error }));
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(request: &Value) -> Result<Value, String> {
    let op = text(request, "op")?;
    if let Some(answer) = sse::answer(request) {
        return answer;
    }
    let result = match op {
        "create" => item_to_json(&create(request)?),
        "update" => edited(request, edit_of(request, None)?)?,
        "delete" => edited(request, Edit::delete())?,
        "undelete" => edited(request, edit_of(request, Some(false))?)?,
        "resolve" => resolved(request)?,
        "merge" => return merged(request),
        "subsumed" => {
            let (x, y) = (required_item(request, "x")?, required_item(request, "y")?);
            json!(x.id == y.id && x.winner.is_subsumed_by(&y.winner))
        }
        "x_wins" => {
            let (x, y) = (required_item(request, "x")?, required_item(request, "y")?);
            json!(x.winner.beats(&y.winner))
        }
        other => return Err(format!("unknown op {other:?}")),
    };
    Ok(json!({ "result": result }))
}

fn create(request: &Value) -> Result<Item<String>, String> {
    let id = ItemId::new(text(request, "id")?).map_err(|error| format!("id: {error}"))?;
    let creation = Creation {
        noconflicts: optional(request, "noconflicts", Value::as_bool)?.filter(|&set| set),
        deleted: optional(request, "deleted", Value::as_bool)?.unwrap_or(false),
    };
    let content = text(request, "content")?.to_owned();
    Item::create(id, creation, &stamp_of(request)?, content).map_err(|error| error.to_string())
}

fn edited(request: &Value, edit: Edit<String>) -> Result<Value, String> {
    let mut item = required_item(request, "item")?;
    item.update(&stamp_of(request)?, edit).map_err(|error| error.to_string())?;
    Ok(item_to_json(&item))
}

fn resolved(request: &Value) -> Result<Value, String> {
    let mut item = required_item(request, "item")?;
    let resolved = match request.get("pick") {
        None | Some(Value::Null) => Resolved::All,
        Some(Value::Array(indexes)) => {
            let index = |value: &Value| value.as_u64().and_then(|index| index.try_into().ok());
            let indexes: Option<Vec<usize>> = indexes.iter().map(index).collect();
            Resolved::Some(indexes.ok_or("pick: not a list of indexes")?)
        }
        Some(_) => return Err("pick: neither a list of indexes nor null".into()),
    };
    let keep = match edit_of(request, None)?.payload {
        Some(payload) => Keep::Content { payload, deleted: None },
        None => Keep::Winner,
    };
    item.resolve(&stamp_of(request)?, Resolution { resolved, keep })
        .map_err(|error| error.to_string())?;
    Ok(item_to_json(&item))
}

fn merged(request: &Value) -> Result<Value, String> {
    let local = match request.get("local") {
        None | Some(Value::Null) => None,
        Some(_) => Some(required_item(request, "local")?),
    };
    let incoming = required_item(request, "incoming")?;
    let (item, outcome) = merge(local, incoming).map_err(|error| error.to_string())?;
    let outcome = match outcome {
        Outcome::Added => "added",
        Outcome::Unchanged => "unchanged",
        Outcome::Updated => "updated",
        Outcome::Conflict => "conflict",
    };
    Ok(json!({ "result": item_to_json(&item), "outcome": outcome }))
}
