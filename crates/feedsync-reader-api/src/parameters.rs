//! Parameters of queries and forms.

use percent_encoding::percent_decode;

use crate::fault::Fault;

/// Maximum number of parameters in a request.
pub const MAX_PARAMETERS: usize = 40_000;

/// Maximum length of one text in a request, in bytes.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// Decoded names and values, in order. A name may be repeated.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Adds the parameters of a query or a form; faults refer to it as `part`.
    pub(crate) fn read(&mut self, part: &'static str, text: &str) -> Result<(), Fault> {
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if name.len().max(value.len()) > MAX_TEXT_BYTES {
                return Err(Fault::of(
                    part,
                    format!("a string can have at most {MAX_TEXT_BYTES} bytes"),
                ));
            }
            if self.0.len() == MAX_PARAMETERS {
                return Err(Fault::of(
                    part,
                    format!("a request can have at most {MAX_PARAMETERS} parameters"),
                ));
            }
            let text = |raw| {
                decoded(raw)
                    .ok_or_else(|| Fault::of(part, "the percent-encoded bytes are not valid UTF-8"))
            };
            self.0.push((text(name)?, text(value)?));
        }
        Ok(())
    }

    /// Returns the names and values.
    pub(crate) fn into_pairs(self) -> impl Iterator<Item = (String, String)> {
        self.0.into_iter()
    }

    /// Returns all values of a name.
    pub(crate) fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Returns the values of a name that are not empty; more than `most` are a fault.
    pub(crate) fn some(&self, name: &'static str, most: usize) -> Result<Vec<&str>, Fault> {
        let given = self.all(name).filter(|value| !value.is_empty());
        let found: Vec<&str> = given.take(most + 1).collect();
        if found.len() > most {
            return Err(Fault::of(name, format!("the parameter can occur at most {most} times")));
        }
        Ok(found)
    }

    /// Returns the first value of a name, unless it is empty.
    pub(crate) fn first(&self, name: &'static str) -> Option<&str> {
        self.all(name).next().filter(|value| !value.is_empty())
    }

    /// Returns the first value of a required name.
    pub(crate) fn needed(&self, name: &'static str) -> Result<&str, Fault> {
        self.first(name).ok_or(Fault::Missing { name })
    }

    /// Returns the first value of a name as an unsigned number.
    pub(crate) fn number(&self, name: &'static str) -> Result<Option<u64>, Fault> {
        self.first(name).map(|text| number(name, text)).transpose()
    }
}

/// Parses an unsigned number; one that is too large becomes the largest.
pub(crate) fn number(name: &'static str, text: &str) -> Result<u64, Fault> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::of(name, "not a number"));
    }
    Ok(text.parse().unwrap_or(u64::MAX))
}

/// Decodes a value; returns `None` if it is not UTF-8.
fn decoded(raw: &str) -> Option<String> {
    let spaced = raw.replace('+', " ");
    Some(percent_decode(spaced.as_bytes()).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Parameters, Fault> {
        let mut parameters = Parameters::default();
        parameters.read("the query", text).map(|()| parameters)
    }

    #[test]
    fn parameters_are_decoded_in_their_order() {
        let found = read("i=1&i=%32&&n=a+b%2Bc&x&e=&i=3=4").unwrap();
        assert_eq!(found.all("i").collect::<Vec<_>>(), ["1", "2", "3=4"]);
        assert_eq!(found.first("n"), Some("a b+c"));
        assert_eq!((found.first("x"), found.first("e"), found.first("y")), (None, None, None));
        assert_eq!(found.needed("e"), Err(Fault::Missing { name: "e" }));
        assert_eq!(found.number("i"), Ok(Some(1)));
        assert_eq!(number("n", "99999999999999999999"), Ok(u64::MAX));
        for other in ["", "-1", "+1", "1.0", "\u{661}"] {
            assert_eq!(number("n", other), Err(Fault::of("n", "not a number")));
        }
    }

    #[test]
    fn parameters_are_bounded() {
        assert!(read("a=%ff").is_err() && read("%ff=a").is_err());
        assert!(read(&"a&".repeat(MAX_PARAMETERS)).is_ok());
        assert!(read(&"a&".repeat(MAX_PARAMETERS + 1)).is_err());
        assert!(read(&format!("a={}", "x".repeat(MAX_TEXT_BYTES))).is_ok());
        assert!(read(&format!("a={}", "x".repeat(MAX_TEXT_BYTES + 1))).is_err());
    }
}
