//! Media types of bodies, and the refusal of others.

use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::http::problem::Problem;

/// Media type of a member.
pub(crate) const ENTRY: HeaderValue = HeaderValue::from_static("application/atom+xml;type=entry");

/// Kind of Atom document in a media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomType {
    /// `type=entry`.
    Entry,
    /// `type=feed`.
    Feed,
    /// Not given: the root element decides (AP29).
    Either,
}

/// Media type of a request's body, as written.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}

/// A media type without its parameters.
pub(crate) fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Whether a form of any page could send this type (AP64).
pub(crate) fn is_form(media_type: &str) -> bool {
    let forms = ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"];
    forms.iter().any(|form| form.eq_ignore_ascii_case(essence(media_type)))
}

/// Kind of document of an Atom media type; none for other types.
pub(crate) fn atom_type(media_type: &str) -> Option<AtomType> {
    let parts = media_type.split(';').map(str::trim).skip(1);
    if !essence(media_type).eq_ignore_ascii_case("application/atom+xml") {
        return None;
    }
    let kind = parts.filter_map(|parameter| parameter.split_once('=')).find_map(|(name, value)| {
        name.trim().eq_ignore_ascii_case("type").then(|| value.trim().trim_matches('"'))
    });
    match kind {
        None => Some(AtomType::Either),
        Some(kind) if kind.eq_ignore_ascii_case("entry") => Some(AtomType::Entry),
        Some(kind) if kind.eq_ignore_ascii_case("feed") => Some(AtomType::Feed),
        Some(_) => None,
    }
}

/// 415 with the accepted types (AH22).
pub(crate) fn unsupported_media_type(found: &str, accept: HeaderValue) -> Problem {
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported-media-type",
        "Unsupported media type",
        format!(
            "the media type {found:?} is not accepted here; the Accept header lists the accepted \
             ones"
        ),
    )
    .header(header::ACCEPT, accept)
}
