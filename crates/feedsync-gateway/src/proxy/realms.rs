//! Realms of passwords that a browser stores (RFC 7617 2.2). In reverse mode all origins are one host to the
//! browser. It would therefore send the password of a realm to every origin with the same realm name. To prevent
//! that, realms are prefixed with their origin. A field that cannot be parsed is replaced by the origin's own
//! realm, since a browser may parse it all the same. Only Basic is rewritten; in other schemes the realm is part
//! of the proof to the origin.

use http::header::{self, HeaderMap, HeaderValue};

use crate::challenge::{Challenge, field};

/// Prefixes the Basic realms of a response with an origin.
pub(super) fn tell(headers: &mut HeaderMap, origin: &str) {
    let told = headers.get_all(header::WWW_AUTHENTICATE).iter();
    let told: Vec<_> = told.filter_map(|challenges| below(origin, challenges)).collect();
    headers.remove(header::WWW_AUTHENTICATE);
    for challenges in told {
        headers.append(header::WWW_AUTHENTICATE, challenges);
    }
}

/// Prefixes the realms of one field; returns `None` for an empty field.
fn below(origin: &str, challenges: &HeaderValue) -> Option<HeaderValue> {
    let told = Challenge::of(challenges)
        .unwrap_or_else(|| vec![Challenge { scheme: "Basic".to_owned(), parameters: Vec::new() }]);
    let told: Vec<_> = told.into_iter().map(|challenge| challenge.below(origin)).collect();
    field(&told)
}

impl Challenge {
    fn below(self, origin: &str) -> Self {
        if !self.is("basic") {
            return self;
        }
        let own = self.parameters.iter().find_map(|parameter| realm(parameter));
        let mut parameters = vec![match own.unwrap_or_default() {
            "" => format!("realm=\"{origin}\""),
            own if own == origin => format!("realm=\"{origin}\""),
            other => format!("realm=\"{origin} {other}\""),
        }];
        parameters.extend(self.parameters.into_iter().filter(|it| realm(it).is_none()));
        Self { scheme: self.scheme, parameters }
    }
}

/// Value of a realm parameter, as it is written within the quotes.
fn realm(parameter: &str) -> Option<&str> {
    let (name, value) = parameter.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("realm") {
        return None;
    }
    let value = value.trim();
    Some(value.strip_prefix('"').and_then(|inside| inside.strip_suffix('"')).unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_realm_of_one_origin_is_not_that_of_another() {
        let at = "https://a";
        for (told, expected) in [
            ("Basic realm=\"x\"", "Basic realm=\"https://a x\""),
            ("basic REALM = x", "basic realm=\"https://a x\""),
            (
                "Basic charset=\"UTF-8\", realm=\"a, \\\"b\\\"\"",
                "Basic realm=\"https://a a, \\\"b\\\"\", charset=\"UTF-8\"",
            ),
            (
                "Digest realm=\"x\", nonce=\"y=\", Basic realm=\"x\", Bearer realm=\"x\"",
                "Digest realm=\"x\", nonce=\"y=\", Basic realm=\"https://a x\", Bearer realm=\"x\"",
            ),
            ("Negotiate", "Negotiate"),
            ("Negotiate eA==, Basic", "Negotiate eA==, Basic realm=\"https://a\""),
            ("Basic realm=\"https://a\"", "Basic realm=\"https://a\""),
            // A browser may accept text that is not a valid challenge.
            ("realm=\"x\"", "Basic realm=\"https://a\""),
            ("\"x\" Basic realm=\"x\"", "Basic realm=\"https://a\""),
        ] {
            let told = HeaderValue::from_static(told);
            assert_eq!(below(at, &told).unwrap(), expected, "{told:?}");
        }
        let latin = HeaderValue::from_bytes(b"Basic realm=\"\xdcber\"").unwrap();
        let told = below(at, &latin).unwrap();
        assert_eq!(told.as_bytes(), "Basic realm=\"https://a \u{fffd}ber\"".as_bytes());
        assert_eq!(below(at, &HeaderValue::from_static(" , ")), None);
    }
}
