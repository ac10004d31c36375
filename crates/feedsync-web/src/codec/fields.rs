//! Members of JSON objects, and the values that several rows have.

use std::fmt::Display;
use std::str::FromStr;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::collections::SortedSet;
use feedsync_bitsy::headers::AUTHORIZATION;
use feedsync_bitsy::interceptor::{Content, Digest, Entity};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::relation::Relation;
use feedsync_bitsy::time::Time;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};

/// A stored value that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the value of {member} cannot be read: {why}")]
pub struct Damaged {
    /// Member of the JSON object.
    member: &'static str,
    /// Reason why it cannot be read.
    why: String,
}

/// Members of a JSON object.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'v>(pub(crate) &'v Value);

impl Damaged {
    pub(crate) fn new(member: &'static str, why: impl Display) -> Self {
        Self { member, why: why.to_string() }
    }
}

impl<'v> Fields<'v> {
    /// Value of a member that is not `null`.
    pub(crate) fn optional(self, member: &str) -> Option<&'v Value> {
        self.0.get(member).filter(|value| !value.is_null())
    }

    pub(crate) fn value(self, member: &'static str) -> Result<&'v Value, Damaged> {
        self.optional(member).ok_or_else(|| Damaged::new(member, "it is missing"))
    }

    pub(crate) fn text(self, member: &'static str) -> Result<&'v str, Damaged> {
        self.value(member)?.as_str().ok_or_else(|| Damaged::new(member, "it is no text"))
    }

    pub(crate) fn optional_text(self, member: &'static str) -> Result<Option<&'v str>, Damaged> {
        self.optional(member).map(|_| self.text(member)).transpose()
    }

    pub(crate) fn number(self, member: &'static str) -> Result<u64, Damaged> {
        self.value(member)?.as_u64().ok_or_else(|| Damaged::new(member, "it is no number"))
    }

    /// Reads a number of a smaller type.
    pub(crate) fn small<T: TryFrom<u64>>(self, member: &'static str) -> Result<T, Damaged> {
        T::try_from(self.number(member)?).map_err(|_| Damaged::new(member, "it is too large"))
    }

    pub(crate) fn flag(self, member: &'static str) -> Result<bool, Damaged> {
        self.value(member)?.as_bool().ok_or_else(|| Damaged::new(member, "it is no boolean"))
    }

    pub(crate) fn list(self, member: &'static str) -> Result<&'v [Value], Damaged> {
        let list = self.value(member)?.as_array();
        list.map(Vec::as_slice).ok_or_else(|| Damaged::new(member, "it is no list"))
    }

    pub(crate) fn parsed<T: FromStr<Err: Display>>(
        self,
        member: &'static str,
    ) -> Result<T, Damaged> {
        self.text(member)?.parse().map_err(|error| Damaged::new(member, error))
    }

    pub(crate) fn location(self, member: &'static str) -> Result<Location, Damaged> {
        self.parsed(member)
    }

    pub(crate) fn optional_location(
        self,
        member: &'static str,
    ) -> Result<Option<Location>, Damaged> {
        self.optional(member).map(|_| self.location(member)).transpose()
    }

    pub(crate) fn time(self, member: &'static str) -> Result<Time, Damaged> {
        self.number(member).map(Time::from_millis)
    }

    pub(crate) fn optional_time(self, member: &'static str) -> Result<Option<Time>, Damaged> {
        self.optional(member).map(|_| self.time(member)).transpose()
    }

    pub(crate) fn status(self, member: &'static str) -> Result<StatusCode, Damaged> {
        StatusCode::from_u16(self.small(member)?).map_err(|error| Damaged::new(member, error))
    }

    pub(crate) fn partition(self, member: &'static str) -> Result<Partition, Damaged> {
        let bytes = bytes_of(self.text(member)?);
        bytes.map(Partition::of_bytes).ok_or_else(|| Damaged::new(member, "it is no digest"))
    }

    pub(crate) fn content(self, member: &'static str) -> Result<Content, Damaged> {
        let text = self.text(member)?;
        let parts = text.split_once(' ').and_then(|(digest, length)| {
            Some(Content { digest: Digest(bytes_of(digest)?), length: length.parse().ok()? })
        });
        parts.ok_or_else(|| Damaged::new(member, "it is no digest with a length"))
    }

    pub(crate) fn optional_content(self, member: &'static str) -> Result<Option<Content>, Damaged> {
        self.optional(member).map(|_| self.content(member)).transpose()
    }

    pub(crate) fn headers(self, member: &'static str) -> Result<HeaderMap, Damaged> {
        headers(self.list(member)?).map_err(|error| Damaged::new(member, error.why))
    }

    pub(crate) fn optional_entity(self, member: &'static str) -> Result<Option<Entity>, Damaged> {
        let Some(value) = self.optional(member) else { return Ok(None) };
        let of = Fields(value);
        Ok(Some(Entity { headers: of.headers("headers")?, content: of.content("content")? }))
    }

    pub(crate) fn relations(self, member: &'static str) -> Result<SortedSet<Relation>, Damaged> {
        let parse = |value: &Value| {
            let text = value.as_str().unwrap_or_default();
            text.parse().map_err(|error| Damaged::new(member, error))
        };
        self.list(member)?.iter().map(parse).collect()
    }
}

/// Reads headers: pairs of a name and a value, in their order.
pub(crate) fn headers(list: &[Value]) -> Result<HeaderMap, Damaged> {
    let mut headers = HeaderMap::new();
    for pair in list {
        let (name, value) = header(pair).ok_or_else(|| Damaged::new("headers", pair))?;
        headers.try_append(name, value).map_err(|error| Damaged::new("headers", error))?;
    }
    Ok(headers)
}

fn header(pair: &Value) -> Option<(HeaderName, HeaderValue)> {
    let name: HeaderName = pair.get(0)?.as_str()?.parse().ok()?;
    let mut value = header_value(pair.get(1)?.as_str()?)?;
    value.set_sensitive(AUTHORIZATION.contains(&name));
    Some((name, value))
}

/// Reads a value of a header, whose bytes are the characters of a text, as in scripts.
pub(crate) fn header_value(text: &str) -> Option<HeaderValue> {
    let bytes: Option<Vec<u8>> = text.chars().map(|byte| u8::try_from(byte).ok()).collect();
    HeaderValue::from_bytes(&bytes?).ok()
}

/// Text whose characters are the bytes of a value of a header.
pub(crate) fn header_text(value: &HeaderValue) -> String {
    value.as_bytes().iter().copied().map(char::from).collect()
}

/// Value of headers: pairs of a name and a value.
pub(crate) fn header_list(headers: &HeaderMap) -> Value {
    headers.iter().map(|(name, value)| json!([name.as_str(), header_text(value)])).collect()
}

pub(crate) fn content_value(content: &Content) -> Value {
    json!(format!("{} {}", content.digest, content.length))
}

pub(crate) fn entity_value(entity: &Entity) -> Value {
    let content = content_value(&entity.content);
    json!({ "headers": header_list(&entity.headers), "content": content })
}

pub(crate) fn relations_value(relations: &SortedSet<Relation>) -> Value {
    relations.iter().map(|relation| json!(relation.as_str())).collect()
}

/// The 32 bytes of a hexadecimal text.
pub(crate) fn bytes_of(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// Hexadecimal text of a partition.
pub(crate) fn partition_text(partition: Partition) -> String {
    Digest(*partition.bytes()).to_string()
}
