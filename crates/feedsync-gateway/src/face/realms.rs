//! Realms of passwords that a browser keeps (RFC 7617 2.2): in reverse mode all origins are one host to it,
//! and it would send the password of a realm to every origin that names its own realm the same. So a realm is
//! told to a browser with the origin before it. Of Basic alone: in other schemes the realm is part of what is
//! proved to the origin.

use http::header::{self, HeaderMap, HeaderValue};

/// Has the header of an answer tell realms of Basic below an origin.
pub(super) fn tell(headers: &mut HeaderMap, origin: &str) {
    let told = headers.get_all(header::WWW_AUTHENTICATE).iter();
    let told: Vec<_> = told.map(|challenges| below(origin, challenges)).collect();
    headers.remove(header::WWW_AUTHENTICATE);
    for challenges in told {
        headers.append(header::WWW_AUTHENTICATE, challenges);
    }
}

/// The same of one field. What is no list of challenges stays as it is.
fn below(origin: &str, challenges: &HeaderValue) -> HeaderValue {
    let told = challenges.to_str().ok().and_then(|text| {
        let told: Vec<_> = parsed(text)?.iter().map(|challenge| challenge.below(origin)).collect();
        told.join(", ").parse().ok()
    });
    told.unwrap_or_else(|| challenges.clone())
}

/// A scheme and its parameters.
struct Challenge<'t> {
    scheme: &'t str,
    parameters: Vec<&'t str>,
}

impl Challenge<'_> {
    fn below(&self, origin: &str) -> String {
        let Self { scheme, parameters } = self;
        let mut told: Vec<String> = Vec::new();
        if scheme.eq_ignore_ascii_case("basic") {
            let own = parameters.iter().find_map(|parameter| realm(parameter));
            told.push(match own.unwrap_or_default() {
                "" => format!("realm=\"{origin}\""),
                own if own == origin => format!("realm=\"{origin}\""),
                other => format!("realm=\"{origin} {other}\""),
            });
            let others = parameters.iter().filter(|parameter| realm(parameter).is_none());
            told.extend(others.map(|&parameter| parameter.to_owned()));
        } else {
            told.extend(parameters.iter().map(|&parameter| parameter.to_owned()));
        }
        format!("{scheme} {}", told.join(", ")).trim_end().to_owned()
    }
}

/// The challenges of a field (RFC 9110 11.6.1), if it has any.
fn parsed(text: &str) -> Option<Vec<Challenge<'_>>> {
    let mut challenges: Vec<Challenge<'_>> = Vec::new();
    for part in listed(text).into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        // A scheme is followed by a space, a parameter's name by an equals sign.
        let (first, rest) = part.split_once([' ', '\t']).unwrap_or((part, ""));
        let rest = rest.trim_start();
        if first.contains('=') || rest.starts_with('=') {
            challenges.last_mut()?.parameters.push(part);
        } else {
            let parameters = Some(rest).filter(|rest| !rest.is_empty()).into_iter().collect();
            challenges.push(Challenge { scheme: first, parameters });
        }
    }
    Some(challenges)
}

/// The value of a parameter that is a realm, as it stands within quotes.
fn realm(parameter: &str) -> Option<&str> {
    let (name, value) = parameter.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("realm") {
        return None;
    }
    let value = value.trim();
    Some(value.strip_prefix('"').and_then(|inside| inside.strip_suffix('"')).unwrap_or(value))
}

/// What stands between commas that are in no quotes.
fn listed(text: &str) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(|character| {
        let is_comma = character == ',' && !is_quoted;
        is_quoted ^= character == '"' && !is_escaped;
        is_escaped = character == '\\' && is_quoted && !is_escaped;
        is_comma
    })
    .collect()
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
            ("realm=\"x\"", "realm=\"x\""),
        ] {
            let told = HeaderValue::from_static(told);
            assert_eq!(below(at, &told), expected, "{told:?}");
        }
    }
}
