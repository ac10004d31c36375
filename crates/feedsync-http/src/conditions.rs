//! Conditions of a request for a representation (RFC 9110 13).

use std::time::SystemTime;

use http::header::{self, HeaderMap, HeaderName};

use crate::entity_tags::listed_tags;

/// Header fields of a representation that a 304 response repeats (RFC 9110 15.4.5).
const WITH_NOT_MODIFIED: [HeaderName; 7] = [
    header::CACHE_CONTROL,
    header::CONTENT_LOCATION,
    header::DATE,
    header::ETAG,
    header::EXPIRES,
    header::VARY,
    header::WARNING,
];

/// Result of the conditions of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The representation is sent.
    Proceed,
    /// The client has the current version: 304.
    NotModified,
    /// The client wants another version: 412.
    Failed,
}

/// Evaluates the conditions of a GET or HEAD in the prescribed order (RFC 9110 13.2.2). `current` are the headers of
/// the representation.
pub fn condition(request: &HeaderMap, current: &HeaderMap) -> Condition {
    let tag = current.get(header::ETAG).and_then(|tag| tag.to_str().ok());
    let opaque = tag.map(|tag| tag.trim_start_matches("W/").trim_matches('"'));
    let is_weak = tag.is_some_and(|tag| tag.starts_with("W/"));
    let date = |headers: &HeaderMap, name| {
        let text = headers.get(name)?.to_str().ok()?;
        httpdate::parse_http_date(text).ok()
    };
    let modified: Option<SystemTime> = date(current, header::LAST_MODIFIED);
    if request.contains_key(header::IF_MATCH) {
        let is_met = listed_tags(request, header::IF_MATCH).any(|listed| match &listed.opaque {
            Some(wanted) => !listed.weak && !is_weak && opaque == Some(wanted),
            None => true,
        });
        if !is_met {
            return Condition::Failed;
        }
    } else if let Some(since) = date(request, header::IF_UNMODIFIED_SINCE)
        && modified.is_some_and(|modified| modified > since)
    {
        return Condition::Failed;
    }
    if request.contains_key(header::IF_NONE_MATCH) {
        let has = listed_tags(request, header::IF_NONE_MATCH).any(|listed| match &listed.opaque {
            Some(held) => opaque == Some(held),
            None => true,
        });
        return if has { Condition::NotModified } else { Condition::Proceed };
    }
    match (date(request, header::IF_MODIFIED_SINCE), modified) {
        (Some(since), Some(modified)) if modified <= since => Condition::NotModified,
        _ => Condition::Proceed,
    }
}

/// Removes the headers of a representation that a 304 response does not repeat.
pub fn keep_not_modified(headers: &mut HeaderMap) {
    let cache_status = HeaderName::from_static("cache-status");
    let names: Vec<_> = headers.keys().cloned().collect();
    for name in names {
        if !WITH_NOT_MODIFIED.contains(&name) && name != cache_status {
            headers.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(fields: &[(HeaderName, &'static str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn conditions_are_evaluated_in_their_order() {
        use header::{
            ETAG, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, LAST_MODIFIED,
        };
        const OLD: &str = "Wed, 21 May 2008 00:00:00 GMT";
        const NEW: &str = "Thu, 22 May 2008 00:00:00 GMT";
        let strong = headers(&[(ETAG, "\"a\""), (LAST_MODIFIED, NEW)]);
        let weak = headers(&[(ETAG, "W/\"a\"")]);
        for (asked, current, expected) in [
            (headers(&[]), &strong, Condition::Proceed),
            (headers(&[(IF_NONE_MATCH, "\"b\", W/\"a\"")]), &strong, Condition::NotModified),
            (headers(&[(IF_NONE_MATCH, "*")]), &weak, Condition::NotModified),
            (
                headers(&[(IF_NONE_MATCH, "\"b\""), (IF_MODIFIED_SINCE, NEW)]),
                &strong,
                Condition::Proceed,
            ),
            (headers(&[(IF_MODIFIED_SINCE, NEW)]), &strong, Condition::NotModified),
            (headers(&[(IF_MODIFIED_SINCE, OLD)]), &strong, Condition::Proceed),
            (headers(&[(IF_MODIFIED_SINCE, "soon")]), &strong, Condition::Proceed),
            (headers(&[(IF_MATCH, "\"a\"")]), &strong, Condition::Proceed),
            (headers(&[(IF_MATCH, "\"a\"")]), &weak, Condition::Failed),
            (headers(&[(IF_MATCH, "\"b\""), (IF_NONE_MATCH, "\"a\"")]), &strong, Condition::Failed),
            (headers(&[(IF_UNMODIFIED_SINCE, OLD)]), &strong, Condition::Failed),
            (headers(&[(IF_UNMODIFIED_SINCE, NEW)]), &strong, Condition::Proceed),
        ] {
            assert_eq!(condition(&asked, current), expected, "{asked:?} {current:?}");
        }
    }

    #[test]
    fn not_modified_repeats_validators_and_no_description_of_the_bytes() {
        let mut all = headers(&[
            (header::ETAG, "\"a\""),
            (header::CONTENT_LENGTH, "4"),
            (header::CONTENT_TYPE, "text/plain"),
        ]);
        keep_not_modified(&mut all);
        assert_eq!(all, headers(&[(header::ETAG, "\"a\"")]));
    }
}
