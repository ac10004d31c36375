//! Members of requests to `_find`, `_explain` and `_index`, with CouchDB's errors.
//!
//! Source: CouchDB's `mango_opts.erl` and `mango_error.erl`.

use feedsync_formats::json::{Kind, Node};

use crate::json::{boolean, integer, text};
use crate::refusal::{Refusal, RefusalKind};

/// Refuses a request with a member that is not known.
pub(crate) fn refuse_unknown(sent: Node<'_>, known: &[&str]) -> Result<(), Refusal> {
    match sent.members().find(|member| !known.contains(&&*member.name)) {
        None => Ok(()),
        Some(member) => {
            let reason = format!("Invalid key {} for this request.", member.name);
            Err(RefusalKind::InvalidKey.with_reason(reason))
        }
    }
}

/// The value of a member that the request must have.
pub(crate) fn required<'a>(sent: Node<'a>, key: &str) -> Result<Node<'a>, Refusal> {
    let reason = format_args!("Missing required key: {key}");
    let member = sent.member(key).map(|member| member.value);
    member.ok_or_else(|| RefusalKind::MissingKey.with_reason(reason))
}

/// The string of a member, if the request has it.
pub(crate) fn string(sent: Node<'_>, key: &str) -> Result<Option<String>, Refusal> {
    optional(sent, key, |value| {
        let refuse = || {
            RefusalKind::InvalidString.with_reason(format_args!("Invalid string: {}", value.raw()))
        };
        text(value).map(String::from).ok_or_else(refuse)
    })
}

/// Whether a member is true, or a default value if the request lacks it.
pub(crate) fn flag(sent: Node<'_>, key: &str, default: bool) -> Result<bool, Refusal> {
    let flag = optional(sent, key, |value| {
        let reason = format_args!("Invalid boolean value: {}", value.raw());
        boolean(value).ok_or_else(|| RefusalKind::InvalidBoolean.with_reason(reason))
    })?;
    Ok(flag.unwrap_or(default))
}

/// The number of a member, or a default value if the request lacks it.
pub(crate) fn number(sent: Node<'_>, key: &str, default: u64) -> Result<u64, Refusal> {
    let number = optional(sent, key, |value| {
        let reason =
            format_args!("{} is not an integer greater than or equal to zero", value.raw());
        integer(value).ok_or_else(|| RefusalKind::InvalidNonNegativeInteger.with_reason(reason))
    })?;
    Ok(number.unwrap_or(default))
}

/// The number of a member, which must not be zero, or a default value if the request lacks it.
pub(crate) fn positive(sent: Node<'_>, key: &str, default: u64) -> Result<u64, Refusal> {
    let number = optional(sent, key, |value| {
        let reason = format_args!("{} is not an integer greater than zero", value.raw());
        let number = integer(value).filter(|number| *number > 0);
        number.ok_or_else(|| RefusalKind::InvalidPositiveInteger.with_reason(reason))
    })?;
    Ok(number.unwrap_or(default))
}

/// Refuses a selector that is not an object.
pub(crate) fn check_selector(sent: Node<'_>) -> Result<(), Refusal> {
    if sent.kind() == Kind::Object {
        return Ok(());
    }
    let reason = format!("Selector must be a JSON object, not: {}", sent.raw());
    Err(RefusalKind::InvalidSelector.with_reason(reason))
}

fn optional<'a, T>(
    sent: Node<'a>,
    key: &str,
    read: impl FnOnce(Node<'a>) -> Result<T, Refusal>,
) -> Result<Option<T>, Refusal> {
    sent.member(key).map(|member| read(member.value)).transpose()
}
