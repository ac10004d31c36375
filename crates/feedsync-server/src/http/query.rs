//! The query of an address and the fields of a form, parsed strictly: a name is refused if its value is not
//! UTF-8 or is given twice.

use crate::http::problem::Problem;

/// Maximum size of a parameter, in bytes; values of other publishers are shorter too.
const MAX_VALUE: usize = 1_024;

/// Maximum number of parameters.
const MAX_PARAMETERS: usize = 64;

/// The parameters of an address.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses `name=value&name=value`; unknown names are ignored.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Problem> {
        Self::read(text.unwrap_or_default(), MAX_VALUE)
    }

    /// Parses the fields of a form, whose length only the body limits.
    pub(crate) fn form(text: &str) -> Result<Self, Problem> {
        Self::read(text, usize::MAX)
    }

    fn read(text: &str, most: usize) -> Result<Self, Problem> {
        let mut parameters: Vec<(String, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name).ok_or_else(|| {
                Problem::bad_request("the name of a parameter is not valid UTF-8")
            })?;
            let value = decoded(value)
                .ok_or_else(|| Problem::parameter(&name, "the value is not valid UTF-8"))?;
            if value.len() > most {
                let detail = format!("the value has more than {most} bytes");
                return Err(Problem::parameter(&name, detail));
            }
            if parameters.iter().any(|(known, _)| *known == name) {
                return Err(Problem::parameter(&name, "the parameter occurs more than once"));
            }
            if parameters.len() >= MAX_PARAMETERS {
                return Err(Problem::bad_request("the request has too many parameters"));
            }
            parameters.push((name, value));
        }
        Ok(Self(parameters))
    }

    /// A parameter, if it is there.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A parameter that is a whole number of at least `least`.
    pub(crate) fn number(&self, name: &str, least: u64) -> Result<Option<u64>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if digits && number >= least => Ok(Some(number)),
            _ => Err(Problem::parameter(name, format!("must be a whole number, at least {least}"))),
        }
    }
}

/// Percent-decodes, `+` as a space; `None` if the bytes are not UTF-8 or an escape is broken.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                u8::try_from(high << 4 | low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Percent-encodes a value of a parameter.
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:@!$'()*,;".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_or_refused() {
        let query = Query::parse(Some("since=a%2Bb+c&limit=10&&odd")).unwrap();
        assert_eq!(query.text("since"), Some("a+b c"));
        assert_eq!(query.number("limit", 1).unwrap(), Some(10));
        assert_eq!(query.text("odd"), Some(""));
        assert_eq!(query.number("none", 1).unwrap(), None);
        for refused in ["since=%ff", "since=%4", "since=%zz", "a=1&a=2"] {
            assert!(Query::parse(Some(refused)).is_err(), "{refused}");
        }
        assert!(Query::parse(Some(&format!("since={}", "x".repeat(1_025)))).is_err());
        for refused in ["limit=0", "limit=-1", "limit=+1", "limit=", "limit=1.5", "limit=x"] {
            let query = Query::parse(Some(refused)).unwrap();
            assert!(query.number("limit", 1).is_err(), "{refused}");
        }
    }

    #[test]
    fn encoded_values_decode_to_the_original() {
        for text in ["", "0a-1", "2005-05-21T11:43:33Z", "a b&c=d%é+"] {
            assert_eq!(decoded(&encoded(text)).as_deref(), Some(text));
        }
    }
}
