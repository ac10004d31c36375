//! Schemes that authenticate a connection instead of a request: NTLM and Negotiate (RFC 4559 6). The gateway
//! shares connections between clients. A connection that may be authenticated therefore serves nobody else.
//! Challenges of these schemes are removed, since the rounds of such a scheme would not use the same connection.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::challenge::{Challenge, field};

const SCHEMES: [&str; 2] = ["NTLM", "Negotiate"];

/// Header fields of a response that concern authentication.
const AUTHENTICATION_HEADERS: [HeaderName; 2] =
    [header::WWW_AUTHENTICATE, HeaderName::from_static("authentication-info")];

/// Whether a request authenticates its connection.
pub(crate) fn is_signed(headers: &HeaderMap) -> bool {
    headers.get_all(header::AUTHORIZATION).iter().any(|value| {
        let text = String::from_utf8_lossy(value.as_bytes());
        text.split_whitespace().next().is_some_and(is_connections)
    })
}

/// Removes challenges of these schemes from a response; returns whether there were any.
pub(crate) fn strip(headers: &mut HeaderMap) -> bool {
    let mut is_stripped = false;
    for name in AUTHENTICATION_HEADERS {
        let told: Vec<_> = headers.get_all(&name).iter().map(others).collect();
        if told.iter().all(Option::is_none) {
            continue;
        }
        is_stripped = true;
        let fields: Vec<HeaderValue> = headers.get_all(&name).iter().cloned().collect();
        headers.remove(&name);
        for (field, others) in fields.into_iter().zip(told) {
            let kept = others.unwrap_or(Some(field));
            headers.extend(kept.map(|kept| (name.clone(), kept)));
        }
    }
    is_stripped
}

/// Remainder of a field with such challenges; `None` if the field has none and so stays unchanged.
fn others(told: &HeaderValue) -> Option<Option<HeaderValue>> {
    let mut challenges = Challenge::of(told)?;
    let all = challenges.len();
    challenges.retain(|challenge| !is_connections(&challenge.scheme));
    (challenges.len() < all).then(|| field(&challenges))
}

fn is_connections(scheme: &str) -> bool {
    SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_that_authenticate_connections_are_removed() {
        for (told, left) in [
            ("NTLM", None),
            ("negotiate YQ==", None),
            ("Negotiate, Basic realm=\"a, NTLM\", NTLM", Some("Basic realm=\"a, NTLM\"")),
            ("Digest realm=\"x\",nonce=\"y\"", Some("Digest realm=\"x\",nonce=\"y\"")),
        ] {
            for name in AUTHENTICATION_HEADERS {
                let field = (name.clone(), HeaderValue::from_static(told));
                let mut headers = HeaderMap::from_iter([field]);
                assert_eq!(strip(&mut headers), left != Some(told), "{told}");
                let kept = headers.get(&name).map(|value| value.to_str().unwrap());
                assert_eq!(kept, left);
            }
        }
    }

    #[test]
    fn a_request_that_signs_its_connection_in_says_so() {
        for (value, is) in
            [("NTLM TlRM", true), ("negotiate YQ==", true), ("Basic TlRM", false), ("", false)]
        {
            let field = (header::AUTHORIZATION, HeaderValue::from_static(value));
            assert_eq!(is_signed(&HeaderMap::from_iter([field])), is, "{value}");
        }
    }
}
