//! Single parameters of a query.

use feedsync_formats::json::Node;

use super::ViewUpdate;
use crate::json::{Json, text};
use crate::query::Parameters;
use crate::refusal::{Refusal, RefusalKind};

/// An integer that is not negative. A greater one than the greatest counts as the greatest.
pub(super) fn count(parameters: &Parameters, name: &str) -> Result<Option<u64>, Refusal> {
    let Some(text) = parameters.text(name) else { return Ok(None) };
    let refuse = |kind: &str| {
        let reason = format!("Invalid value for {kind}: {text:?}");
        Err(RefusalKind::QueryParse.with_reason(reason))
    };
    let (is_negative, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return refuse("integer");
    }
    match digits.parse().unwrap_or(u64::MAX) {
        number if is_negative && number > 0 => refuse("positive integer"),
        number => Ok(Some(number)),
    }
}

/// The value of the last parameter that has one of these names.
pub(super) fn last_json(
    parameters: &Parameters,
    names: [&str; 3],
) -> Result<Option<Json>, Refusal> {
    let name = parameters.pairs().map(|(name, _)| name).filter(|name| names.contains(name)).last();
    name.map_or(Ok(None), |name| parameters.json(name))
}

/// The text of the first of these parameters that is present. It is written as it is in a query, and as a JSON string in
/// a body.
pub(super) fn word(
    parameters: &Parameters,
    body: Option<Node<'_>>,
    names: [&str; 2],
) -> Result<Option<String>, Refusal> {
    let member = |name: &&str| body.and_then(|body| body.member(name));
    if let Some(member) = names.iter().find_map(member) {
        let refuse = || {
            let reason = format!("`{}` must be a string.", names[0]);
            RefusalKind::QueryParse.with_reason(reason)
        };
        return text(member.value).map(|text| Some(text.into_owned())).ok_or_else(refuse);
    }
    Ok(names.iter().find_map(|name| parameters.text(name)).map(str::to_owned))
}

/// When the rows are brought up to date. `update` has precedence over `stale`, which CouchDB no longer recommends.
pub(super) fn update(
    parameters: &Parameters,
    body: Option<Node<'_>>,
) -> Result<ViewUpdate, Refusal> {
    let refuse = |name: &str| {
        Err(RefusalKind::QueryParse.with_reason(format_args!("Invalid value for `{name}`.")))
    };
    match &*choice(parameters, body, "update") {
        "" => {}
        "true" => return Ok(ViewUpdate::Before),
        "false" => return Ok(ViewUpdate::Never),
        "lazy" => return Ok(ViewUpdate::After),
        _ => return refuse("update"),
    }
    match &*choice(parameters, body, "stale") {
        "" | "false" => Ok(ViewUpdate::Before),
        "ok" => Ok(ViewUpdate::Never),
        "update_after" => Ok(ViewUpdate::After),
        _ => refuse("stale"),
    }
}

/// The text of a parameter, which can also be Boolean in a body; empty if it is absent.
fn choice(parameters: &Parameters, body: Option<Node<'_>>, name: &str) -> String {
    match body.and_then(|body| body.member(name)) {
        Some(member) => text(member.value).map_or_else(|| member.value.raw().into(), Into::into),
        None => parameters.text(name).map_or_else(String::new, str::to_owned),
    }
}
