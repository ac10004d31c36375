//! Conversion between stored values and columns. Values that cannot be converted back are reported as damage.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{Content, Digest, Entity};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::relation::Relation;
use feedsync_bitsy::time::Time;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use rusqlite::Row;
use rusqlite::types::FromSql;

use super::error::StoreError;

/// Header fields whose values are always treated as secrets.
const SECRETS: [HeaderName; 3] =
    [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION];

/// Reads the columns of a row in sequence.
pub(super) struct Columns<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(super) fn of(row: &'r Row<'r>) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn get<T: FromSql>(&mut self) -> Result<T, StoreError> {
        self.next += 1;
        Ok(self.row.get(self.next - 1)?)
    }

    /// Reads an unsigned number.
    pub(super) fn number(&mut self) -> Result<u64, StoreError> {
        Ok(self.get::<i64>()?.cast_unsigned())
    }

    /// Reads a number of a smaller type.
    pub(super) fn small<T: TryFrom<i64>>(&mut self) -> Result<T, StoreError> {
        let number: i64 = self.get()?;
        T::try_from(number).map_err(|_| damaged("a number", number))
    }

    pub(super) fn time(&mut self) -> Result<Time, StoreError> {
        self.number().map(Time::from_millis)
    }

    pub(super) fn optional_time(&mut self) -> Result<Option<Time>, StoreError> {
        let time: Option<i64> = self.get()?;
        Ok(time.map(|time| Time::from_millis(time.cast_unsigned())))
    }

    pub(super) fn parsed<T: FromStr<Err: Display>>(&mut self) -> Result<T, StoreError> {
        parse(&self.get::<String>()?)
    }

    pub(super) fn location(&mut self) -> Result<Location, StoreError> {
        self.parsed()
    }

    pub(super) fn optional_location(&mut self) -> Result<Option<Location>, StoreError> {
        self.get::<Option<String>>()?.as_deref().map(parse).transpose()
    }

    pub(super) fn partition(&mut self) -> Result<Partition, StoreError> {
        self.get().map(Partition::of_bytes)
    }

    /// Reads a digest and a length.
    pub(super) fn content(&mut self) -> Result<Content, StoreError> {
        Ok(Content { digest: Digest(self.get()?), length: self.number()? })
    }

    pub(super) fn optional_content(&mut self) -> Result<Option<Content>, StoreError> {
        let (digest, length): (Option<[u8; 32]>, Option<i64>) = (self.get()?, self.get()?);
        let both = digest.zip(length);
        Ok(both.map(|(digest, length)| Content {
            digest: Digest(digest),
            length: length.cast_unsigned(),
        }))
    }

    pub(super) fn headers(&mut self) -> Result<HeaderMap, StoreError> {
        headers_in(&self.get::<Vec<u8>>()?)
    }

    /// Reads headers, a digest and a length.
    pub(super) fn optional_entity(&mut self) -> Result<Option<Entity>, StoreError> {
        let headers: Option<Vec<u8>> = self.get()?;
        let content = self.optional_content()?;
        let both = headers.zip(content);
        both.map(|(headers, content)| Ok(Entity { headers: headers_in(&headers)?, content }))
            .transpose()
    }

    pub(super) fn relations(&mut self) -> Result<BTreeSet<Relation>, StoreError> {
        relations_in(&self.get::<String>()?)
    }

    pub(super) fn optional_relations(&mut self) -> Result<Option<BTreeSet<Relation>>, StoreError> {
        self.get::<Option<String>>()?.as_deref().map(relations_in).transpose()
    }
}

pub(super) fn damaged(what: &str, found: impl Display) -> StoreError {
    StoreError::Damaged(format!("{found:.100} is not {what}"))
}

fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, StoreError> {
    text.parse().map_err(|error| StoreError::Damaged(format!("{text:.100}: {error}")))
}

pub(super) fn time(time: Time) -> i64 {
    time.millis().cast_signed()
}

/// Digest of an optional content.
pub(super) fn digest(content: Option<&Content>) -> Option<&[u8; 32]> {
    content.map(|content| &content.digest.0)
}

pub(super) fn length(content: Option<&Content>) -> Option<i64> {
    content.map(|content| content.length.cast_signed())
}

/// Joins relations by spaces, which no relation contains.
pub(super) fn relations_out(relations: &BTreeSet<Relation>) -> String {
    relations.iter().map(Relation::as_str).collect::<Vec<_>>().join(" ")
}

fn relations_in(text: &str) -> Result<BTreeSet<Relation>, StoreError> {
    text.split(' ').filter(|relation| !relation.is_empty()).map(parse).collect()
}

/// Encodes headers in their order, including repeated names.
pub(super) fn headers_out(headers: &HeaderMap) -> Vec<u8> {
    fields_out(headers.iter().map(|(name, value)| (name.as_str(), value)))
}

fn headers_in(bytes: &[u8]) -> Result<HeaderMap, StoreError> {
    let mut headers = HeaderMap::new();
    for (name, mut value) in fields_in(bytes)? {
        let name: HeaderName = parse(&name)?;
        value.set_sensitive(value.is_sensitive() || SECRETS.contains(&name));
        headers.try_append(name, value).map_err(|error| damaged("a list of headers", error))?;
    }
    Ok(headers)
}

/// Encodes one field per line. Names contain neither a colon nor an equals sign, and values no line end.
pub(super) fn fields_out<'f>(
    fields: impl IntoIterator<Item = (&'f str, &'f HeaderValue)>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(if value.is_sensitive() { b'=' } else { b':' });
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

pub(super) fn fields_in(bytes: &[u8]) -> Result<Vec<(String, HeaderValue)>, StoreError> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let field = |line: &[u8]| {
        let at = line.iter().position(|byte| matches!(byte, b':' | b'='))?;
        let name = std::str::from_utf8(&line[..at]).ok()?;
        let mut value = HeaderValue::from_bytes(&line[at + 1..]).ok()?;
        value.set_sensitive(line[at] == b'=');
        Some((name.to_owned(), value))
    };
    let line = |line: &[u8]| field(line).ok_or_else(|| damaged("a header", "a line"));
    lines.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_what_they_were_in_their_order_and_secrets_stay_secret() {
        let mut headers = HeaderMap::new();
        let fields: [(&'static str, &[u8]); 6] = [
            ("x-b", b"one"),
            ("link", b"<a>; rel=\"x\""),
            ("x-b", b"two = : two"),
            ("x-empty", b""),
            ("authorization", b"Bearer x"),
            ("x-odd", b"gr\xfcn\tund blau"),
        ];
        for (name, value) in fields {
            headers.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        let mut secret = HeaderValue::from_static("told to nobody");
        secret.set_sensitive(true);
        headers.append("x-token", secret);
        let again = headers_in(&headers_out(&headers)).unwrap();
        assert_eq!(again, headers);
        let order = |headers: &HeaderMap| {
            let names = headers.iter().map(|(name, value)| (name.clone(), value.clone()));
            names.collect::<Vec<_>>()
        };
        assert_eq!(order(&again), order(&headers));
        let secrets = again.iter().filter(|(_, value)| value.is_sensitive());
        let names: Vec<&str> = secrets.map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["authorization", "x-token"]);
    }

    #[test]
    fn unparsable_columns_are_reported_as_damage() {
        for bytes in [&b"no name\n"[..], b"a b:c\n", b"\xff:c\n", b"a:\x01\n"] {
            assert!(matches!(headers_in(bytes), Err(StoreError::Damaged(_))), "{bytes:?}");
        }
        assert!(matches!(relations_in("a <b>"), Err(StoreError::Damaged(_))));
    }
}
