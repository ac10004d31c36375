//! Parameters of a request, from the query or from a body with the same meaning.

use std::borrow::Cow;

use feedsync_formats::json::{Kind, Node};
use percent_encoding::percent_decode_str;

use crate::json::{Json, text};
use crate::many::named;
use crate::refusal::{Refusal, RefusalKind};
use crate::revision::Revision;

/// The parameters of a query, in order. Unknown ones are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses a query: the text after `?`.
    pub fn read(query: &str) -> Self {
        let decoded = |part: &str| {
            let spaced = part.replace('+', " ");
            percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
        };
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Self(pairs.collect())
    }

    /// Adds the members of a body, except one that may be long.
    #[must_use]
    pub fn with(mut self, body: Node<'_>, but: &str) -> Self {
        let said = body.members().filter(|member| member.name != but);
        let said = said.map(|it| (it.name.into_owned(), it.value.raw().to_owned()));
        self.0.extend(said);
        self
    }

    /// The value of a parameter; the last one of a name counts.
    pub fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The names and values, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Whether a parameter is `true`; an absent one is `false`.
    pub fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(RefusalKind::QueryParse
                .with_reason(format_args!("Invalid boolean value for {name}: {other:?}"))),
        }
    }

    /// A number without sign; a negative number is treated as absent.
    pub fn count(&self, name: &str) -> Result<Option<u64>, Refusal> {
        let Some(text) = self.text(name) else { return Ok(None) };
        if text.strip_prefix('-').is_some_and(|rest| rest.parse::<u64>().is_ok()) {
            return Ok(None);
        }
        let refuse = |_| {
            RefusalKind::QueryParse
                .with_reason(format_args!("Invalid value for integer {name}: {text:?}"))
        };
        text.parse().map(Some).map_err(refuse)
    }

    /// A parameter that is JSON.
    pub fn json(&self, name: &str) -> Result<Option<Json>, Refusal> {
        let Some(value) = self.text(name) else { return Ok(None) };
        let json = Json::read(value.as_bytes().to_vec());
        let refuse = |_| {
            RefusalKind::QueryParse
                .with_reason(format_args!("Invalid value for JSON parameter {name}"))
        };
        json.map(Some).map_err(refuse)
    }

    /// A JSON array of revisions.
    pub fn revisions(&self, name: &str) -> Result<Option<Vec<Revision>>, Refusal> {
        let Some(json) = self.json(name)? else { return Ok(None) };
        revisions(json.root()).map(Some)
    }

    /// A revision.
    pub fn revision(&self, name: &str) -> Result<Option<Revision>, Refusal> {
        Ok(self.text(name).map(str::parse).transpose()?)
    }
}

/// The texts of an array, up to the number that a [request may name](crate::MAX_NAMED).
pub fn texts(node: Node<'_>) -> Result<Vec<String>, Refusal> {
    each_text(node)?.map(|text| Ok(text?.into_owned())).collect()
}

/// The revisions of an array, up to the same number.
pub fn revisions(node: Node<'_>) -> Result<Vec<Revision>, Refusal> {
    each_text(node)?.map(|text| Ok(text?.parse()?)).collect()
}

fn each_text(
    node: Node<'_>,
) -> Result<impl Iterator<Item = Result<Cow<'_, str>, Refusal>>, Refusal> {
    let refuse = || RefusalKind::BadRequest.with_reason("The value must be an array of strings");
    match node.kind() {
        Kind::Array => Ok(named(node)?.into_iter().map(move |it| text(it).ok_or_else(refuse))),
        _ => Err(refuse()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_they_are_sent() {
        let read = Parameters::read("a=1&b=true&c=%5B%221-a%22%5D&d=a+b%2B&a=2&e&limit=-1&n=x");
        assert_eq!(read.count("a"), Ok(Some(2)));
        assert_eq!((read.flag("b"), read.flag("none")), (Ok(true), Ok(false)));
        assert_eq!(read.revisions("c").unwrap().unwrap().len(), 1);
        assert_eq!((read.text("d"), read.text("e")), (Some("a b+"), Some("")));
        assert_eq!(read.count("limit"), Ok(None));
        for refused in [read.count("n").unwrap_err(), read.flag("a").unwrap_err()] {
            assert_eq!(refused.kind, RefusalKind::QueryParse);
        }
    }
}
