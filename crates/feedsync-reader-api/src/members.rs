//! Named values of a request from JSON, a form or the query.
//!
//! Clients write numbers as text and booleans in many ways; unambiguous values are accepted. A value is parsed
//! only when it is accessed, as the required type. Parsed documents are therefore not larger than their text.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::fault::Fault;
use crate::marking::{MAX_REQUEST_ARTICLES, too_many};
use crate::parameters::MAX_TEXT_BYTES;
use crate::raw_request::RawRequest;
use crate::shown::ArticleNumber;

/// Values by name. `null` counts as absent.
#[derive(Debug, Default)]
pub(crate) struct Members(BTreeMap<String, ParameterValue>);

/// A raw value.
#[derive(Debug)]
pub(crate) enum ParameterValue {
    /// Value in a form or a query.
    Text(String),
    /// Value in JSON.
    Json(Box<RawValue>),
}

impl Members {
    /// Parses a JSON object; an empty body has no members.
    pub(crate) fn of_json(body: &[u8]) -> Result<Self, Fault> {
        if body.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        let found: Result<BTreeMap<String, Box<RawValue>>, _> = serde_json::from_slice(body);
        let found = found.map_err(|error| {
            // The message ends with the position, which is reported separately.
            let text = error.to_string();
            let reason = text.split(" at line ").next().unwrap_or_default().to_owned();
            Fault::Body { line: error.line(), column: error.column(), reason }
        })?;
        Ok(Self(
            found.into_iter().map(|(name, value)| (name, ParameterValue::Json(value))).collect(),
        ))
    }

    /// Parses a JSON object or a form in the body, followed by the query.
    pub(crate) fn of(raw_request: &RawRequest<'_>) -> Result<Self, Fault> {
        let body = raw_request.bounded_body()?;
        let is_json = body.trim_ascii().starts_with(b"{");
        let (json, form) = if is_json { (body, &[][..]) } else { (&[][..], body) };
        let mut members = Self::of_json(json)?;
        let others = RawRequest { body: form, content_type: None, ..*raw_request }.parameters()?;
        for (name, value) in others.into_pairs() {
            members.0.entry(name).or_insert(ParameterValue::Text(value));
        }
        Ok(members)
    }

    fn value(&self, name: &str) -> Option<&ParameterValue> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Whether a member is present, even if it is `null`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns a text.
    pub(crate) fn text(&self, name: &'static str) -> Result<Option<String>, Fault> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let text = value.text().ok_or(Fault::of(name, "must be a string"))?;
        if text.len() > MAX_TEXT_BYTES {
            return Err(Fault::of(
                name,
                format!("a string can have at most {MAX_TEXT_BYTES} bytes"),
            ));
        }
        Ok(Some(text))
    }

    /// Returns a required text that is not empty.
    pub(crate) fn needed_text(&self, name: &'static str) -> Result<String, Fault> {
        self.text(name)?.filter(|text| !text.is_empty()).ok_or(Fault::Missing { name })
    }

    /// Returns a number; an empty text counts as absent.
    pub(crate) fn number(&self, name: &'static str) -> Result<Option<i64>, Fault> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.text() {
            Some(text) if text.is_empty() => Ok(None),
            _ => value.number().map(Some).ok_or(Fault::of(name, "not a number")),
        }
    }

    /// Returns a required number.
    pub(crate) fn needed_number(&self, name: &'static str) -> Result<i64, Fault> {
        self.number(name)?.ok_or(Fault::Missing { name })
    }

    /// Returns a boolean.
    pub(crate) fn flag(&self, name: &'static str) -> Result<Option<bool>, Fault> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let is_so = match value.scalar() {
            Some(Value::Bool(is_so)) => Some(is_so),
            Some(Value::Number(number)) => Some(number.as_i64() != Some(0)),
            Some(Value::String(text)) => match &*text.to_ascii_lowercase() {
                "true" | "t" | "1" | "yes" | "on" => Some(true),
                "false" | "f" | "0" | "no" | "off" | "" => Some(false),
                _ => None,
            },
            _ => None,
        };
        is_so.map(Some).ok_or(Fault::of(name, "must be true or false"))
    }

    /// Returns a required list: an array, or a text that is separated by commas. Its length is limited like a
    /// list of articles.
    pub(crate) fn list(&self, name: &'static str) -> Result<Vec<ParameterValue>, Fault> {
        let found: Vec<ParameterValue> = match self.value(name).ok_or(Fault::Missing { name })? {
            ParameterValue::Json(raw) if raw.get().starts_with('[') => {
                let parts: Vec<&RawValue> = serde_json::from_str(raw.get())
                    .map_err(|_| Fault::of(name, "must be a list"))?;
                let parts = parts.into_iter().take(MAX_REQUEST_ARTICLES + 1);
                parts.map(|part| ParameterValue::Json(part.to_owned())).collect()
            }
            value => {
                let text = value.text().ok_or(Fault::of(name, "must be a list"))?;
                let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
                words
                    .take(MAX_REQUEST_ARTICLES + 1)
                    .map(|word| ParameterValue::Text(word.to_owned()))
                    .collect()
            }
        };
        if found.len() > MAX_REQUEST_ARTICLES {
            return Err(too_many(name));
        }
        Ok(found)
    }

    /// Returns the article numbers in a required list.
    pub(crate) fn articles(&self, name: &'static str) -> Result<Vec<ArticleNumber>, Fault> {
        let number = |value: &ParameterValue| {
            value.number().map(ArticleNumber::new).ok_or(Fault::of(name, "not a number"))
        };
        self.list(name)?.iter().map(number).collect()
    }

    /// Returns the article numbers in a required list that is not empty.
    pub(crate) fn some_articles(&self, name: &'static str) -> Result<Vec<ArticleNumber>, Fault> {
        let found = self.articles(name)?;
        if found.is_empty() { Err(Fault::Missing { name }) } else { Ok(found) }
    }
}

impl ParameterValue {
    fn is_null(&self) -> bool {
        matches!(self, Self::Json(raw) if raw.get() == "null")
    }

    /// Returns a value that is neither an array nor an object.
    fn scalar(&self) -> Option<Value> {
        match self {
            Self::Text(text) => Some(text.as_str().into()),
            Self::Json(raw) if raw.get().starts_with(['[', '{']) => None,
            Self::Json(raw) => serde_json::from_str(raw.get()).ok(),
        }
    }

    /// Returns a text, or a number as text.
    fn text(&self) -> Option<String> {
        match self.scalar()? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Returns a number, or a text as a number.
    pub(crate) fn number(&self) -> Option<i64> {
        self.text()?.trim().parse().ok()
    }

    /// Returns the members of an object.
    pub(crate) fn members(&self) -> Option<Members> {
        match self {
            Self::Json(raw) if raw.get().starts_with('{') => {
                Members::of_json(raw.get().as_bytes()).ok()
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw_request::MAX_BODY_BYTES;

    fn raw_request<'a>(query: &'a str, body: &'a str) -> RawRequest<'a> {
        RawRequest { method: "POST", path: "", query, content_type: None, body: body.as_bytes() }
    }

    #[test]
    fn members_are_equal_in_json_forms_and_queries() {
        for (query, body) in [
            ("", r#"{"n":12,"yes":true,"no":false,"text":"a,b","nothing":null,"list":[1,"2"]}"#),
            ("", r#" {"n":"12","yes":"1","no":0,"text":"a,b","list":[1,"2"]}"#),
            ("n=12&yes=t&no=false&text=a,b&list=1,2", ""),
            ("n=12&yes=true&list=1,+2", "no=&text=a%2Cb&n=12"),
            ("n=13&no=true", r#"{"n":12,"yes":1,"no":"f","text":"a,b","list":"1,2,"}"#),
        ] {
            let members = Members::of(&raw_request(query, body)).unwrap();
            assert_eq!(members.needed_number("n"), Ok(12), "{body}");
            assert_eq!(members.flag("yes"), Ok(Some(true)));
            assert_eq!(members.flag("no"), Ok(Some(false)));
            assert_eq!(members.needed_text("text").as_deref(), Ok("a,b"));
            let list: Vec<_> =
                members.list("list").unwrap().iter().map(ParameterValue::number).collect();
            assert_eq!(list, [Some(1), Some(2)]);
            assert_eq!(members.text("nothing"), Ok(None));
            assert_eq!(members.number("nothing"), Ok(None));
            assert_eq!(members.flag("nothing"), Ok(None));
            let missing = members.list("nothing").unwrap_err();
            assert_eq!(missing, Fault::Missing { name: "nothing" });
        }
    }

    #[test]
    fn faults_name_the_invalid_member() {
        let members =
            Members::of(&raw_request("", r#"{"n":1.5,"l":{},"b":"maybe","t":[]}"#)).unwrap();
        assert_eq!(members.number("n"), Err(Fault::of("n", "not a number")));
        assert_eq!(members.list("l").unwrap_err(), Fault::of("l", "must be a list"));
        assert_eq!(members.list("b").unwrap().len(), 1);
        assert_eq!(members.flag("b"), Err(Fault::of("b", "must be true or false")));
        assert_eq!(members.flag("l"), Err(Fault::of("l", "must be true or false")));
        assert_eq!(members.text("t"), Err(Fault::of("t", "must be a string")));
        let fault = Members::of(&raw_request("", "{\n \"a\": x}")).unwrap_err();
        assert_eq!(fault.to_string(), "the body, line 2, column 7: expected value");
        // The depth does not matter, since the contents are not parsed.
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let members = Members::of(&raw_request("", &deep)).unwrap();
        assert_eq!(members.number("a"), Err(Fault::of("a", "not a number")));
        assert_eq!(members.list("a").unwrap()[0].number(), None);
        let large = "x".repeat(MAX_BODY_BYTES + 1);
        let fault = Members::of(&raw_request("", &large)).unwrap_err();
        assert_eq!(
            (fault.clone(), fault.status()),
            (Fault::TooLarge { most: MAX_BODY_BYTES }, 413)
        );
    }
}
