//! Named values of a request, however it carries them: as JSON, as a form or in the query.
//!
//! Clients write numbers as texts and say yes in many ways; what is meant is clear, and taken.

use serde_json::{Map, Value};

use crate::asked::Asked;
use crate::fault::Fault;
use crate::parameters::MOST_TEXT;

/// Values by their names. `null` is as if it were absent.
#[derive(Debug, Default)]
pub(crate) struct Members(Map<String, Value>);

impl Members {
    /// Those of a body that is a JSON object, or empty.
    pub(crate) fn of_json(body: &[u8]) -> Result<Self, Fault> {
        if body.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_slice(body).map(Self).map_err(|error| {
            // Its text ends with the place, which is said apart.
            let text = error.to_string();
            let reason = text.split(" at line ").next().unwrap_or_default().to_owned();
            Fault::Body { line: error.line(), column: error.column(), reason }
        })
    }

    /// Those of a JSON object or of a form, and behind them those of the query.
    pub(crate) fn of(asked: &Asked<'_>) -> Result<Self, Fault> {
        let is_json = asked.body.trim_ascii().starts_with(b"{");
        let body = if is_json { asked.body } else { b"" };
        let mut members = Self::of_json(body)?;
        let form = if is_json { b"" } else { asked.body };
        let others = Asked { body: form, content_type: None, ..*asked }.parameters()?;
        for (name, value) in others.into_pairs() {
            members.0.entry(name).or_insert(value.into());
        }
        Ok(members)
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Whether there is such a member, also if it is `null`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A text.
    pub(crate) fn text(&self, name: &'static str) -> Result<Option<String>, Fault> {
        let text = match self.value(name) {
            None => return Ok(None),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(_) => return Err(Fault::of(name, "not a text")),
        };
        if text.len() > MOST_TEXT {
            return Err(Fault::of(name, format!("a text has at most {MOST_TEXT} bytes")));
        }
        Ok(Some(text))
    }

    /// A text that must be there, and not empty.
    pub(crate) fn needed_text(&self, name: &'static str) -> Result<String, Fault> {
        self.text(name)?.filter(|text| !text.is_empty()).ok_or(Fault::Missing { name })
    }

    /// A number; an empty text is none.
    pub(crate) fn number(&self, name: &'static str) -> Result<Option<i64>, Fault> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(value) => number(value).map(Some).ok_or(Fault::of(name, "not a number")),
        }
    }

    /// A number that must be there.
    pub(crate) fn needed_number(&self, name: &'static str) -> Result<i64, Fault> {
        self.number(name)?.ok_or(Fault::Missing { name })
    }

    /// Whether something is said to be so.
    pub(crate) fn flag(&self, name: &'static str) -> Result<Option<bool>, Fault> {
        let is_so = match self.value(name) {
            None => return Ok(None),
            Some(Value::Bool(is_so)) => *is_so,
            Some(Value::Number(number)) => number.as_i64() != Some(0),
            Some(Value::String(text)) => match &*text.to_ascii_lowercase() {
                "true" | "t" | "1" | "yes" | "on" => true,
                "false" | "f" | "0" | "no" | "off" | "" => false,
                _ => return Err(Fault::of(name, "neither true nor false")),
            },
            Some(_) => return Err(Fault::of(name, "neither true nor false")),
        };
        Ok(Some(is_so))
    }

    /// Some values: a list, or a text with commas between them. Of what must be there.
    pub(crate) fn list(&self, name: &'static str) -> Result<Vec<Value>, Fault> {
        Ok(match self.value(name) {
            None => return Err(Fault::Missing { name }),
            Some(Value::Array(values)) => values.clone(),
            Some(Value::String(text)) => {
                let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
                words.map(Value::from).collect()
            }
            Some(value @ Value::Number(_)) => vec![value.clone()],
            Some(_) => return Err(Fault::of(name, "not a list")),
        })
    }
}

/// A number, or a text that is one.
pub(crate) fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked<'a>(query: &'a str, body: &'a str) -> Asked<'a> {
        Asked { method: "POST", path: "", query, content_type: None, body: body.as_bytes() }
    }

    #[test]
    fn it_does_not_matter_how_members_are_carried() {
        for (query, body) in [
            ("", r#"{"n":12,"yes":true,"no":false,"text":"a,b","nothing":null,"list":[1,"2"]}"#),
            ("", r#" {"n":"12","yes":"1","no":0,"text":"a,b","list":[1,"2"]}"#),
            ("n=12&yes=t&no=false&text=a,b&list=1,2", ""),
            ("n=12&yes=true&list=1,+2", "no=&text=a%2Cb&n=12"),
            ("n=13&no=true", r#"{"n":12,"yes":1,"no":"f","text":"a,b","list":"1,2,"}"#),
        ] {
            let members = Members::of(&asked(query, body)).unwrap();
            assert_eq!(members.needed_number("n"), Ok(12), "{body}");
            assert_eq!(members.flag("yes"), Ok(Some(true)));
            assert_eq!(members.flag("no"), Ok(Some(false)));
            assert_eq!(members.needed_text("text").as_deref(), Ok("a,b"));
            let list: Vec<_> = members.list("list").unwrap().iter().map(number).collect();
            assert_eq!(list, [Some(1), Some(2)]);
            assert_eq!(members.text("nothing"), Ok(None));
            assert_eq!(members.number("nothing"), Ok(None));
            assert_eq!(members.flag("nothing"), Ok(None));
            assert_eq!(members.list("nothing"), Err(Fault::Missing { name: "nothing" }));
        }
    }

    #[test]
    fn what_is_wrong_with_a_member_is_named() {
        let members = Members::of(&asked("", r#"{"n":1.5,"l":{},"b":"maybe","t":[]}"#)).unwrap();
        assert_eq!(members.number("n"), Err(Fault::of("n", "not a number")));
        assert_eq!(members.list("l"), Err(Fault::of("l", "not a list")));
        assert_eq!(members.flag("b"), Err(Fault::of("b", "neither true nor false")));
        assert_eq!(members.flag("l"), Err(Fault::of("l", "neither true nor false")));
        assert_eq!(members.text("t"), Err(Fault::of("t", "not a text")));
        let fault = Members::of(&asked("", "{\n \"a\": x}")).unwrap_err();
        assert_eq!(fault.to_string(), "the body, line 2, column 7: expected value");
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert!(Members::of(&asked("", &deep)).is_err());
    }
}
