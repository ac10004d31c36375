//! Forms with a file: `multipart/form-data` (RFC 7578), parsed strictly. An invalid form is refused
//! completely.

use axum::body::Body;
use http::{HeaderValue, StatusCode, header};

use crate::access::call::Call;
use crate::http::body;
use crate::http::media_types::{essence, media_type};
use crate::http::problem::Problem;
use crate::hub::Hub;

const KIND: &str = "multipart/form-data";

/// Maximum number of parts of a form, and maximum size of the head of each, in bytes.
const MAX_PARTS: usize = 16;
const MAX_HEAD_BYTES: usize = 4 << 10;

/// The fields and files of a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Upload(Vec<Part>);

#[derive(Debug, PartialEq, Eq)]
struct Part {
    name: String,
    content: Vec<u8>,
}

impl Upload {
    /// Reads a form that one of the hub's pages submitted.
    pub(super) async fn read(hub: &Hub, call: &Call, body: Body) -> Result<Self, Problem> {
        let kind = media_type(&call.headers).unwrap_or_default();
        let Some(boundary) = boundary(kind) else {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported-media-type",
                "Unsupported media type",
                "this address accepts only the form of its own page, with a file",
            )
            .header(header::ACCEPT, HeaderValue::from_static(KIND)));
        };
        let _permit = body::acquire_permit(hub, &hub.uploads).await?;
        let bytes = body::read(hub, &call.headers, body, hub.config.limits.body_bytes).await?;
        call.recheck_if_slow(hub).await?;
        Self::parse(&bytes, boundary).ok_or_else(|| {
            Problem::bad_request("the body is not a valid multipart/form-data form with a file")
        })
    }

    fn parse(bytes: &[u8], boundary: &str) -> Option<Self> {
        let between = format!("\r\n--{boundary}");
        let mut rest = bytes.strip_prefix(&between.as_bytes()[2..])?;
        let mut parts: Vec<Part> = Vec::new();
        loop {
            // Everything after the last boundary is ignored.
            if rest.starts_with(b"--") {
                return Some(Self(parts));
            }
            rest = rest.strip_prefix(b"\r\n")?;
            let head = find(rest, b"\r\n\r\n").filter(|end| *end <= MAX_HEAD_BYTES)?;
            let name = name(std::str::from_utf8(&rest[..head]).ok()?)?;
            rest = &rest[head + 4..];
            let end = find(rest, between.as_bytes())?;
            if parts.len() >= MAX_PARTS || parts.iter().any(|part| part.name == name) {
                return None;
            }
            parts.push(Part { name, content: rest[..end].to_vec() });
            rest = &rest[end + between.len()..];
        }
    }

    /// Value of a field; empty if it is absent or not text.
    pub(super) fn text(&self, name: &str) -> &str {
        let part = self.0.iter().find(|part| part.name == name);
        part.and_then(|part| std::str::from_utf8(&part.content).ok()).unwrap_or_default()
    }

    /// Content of a file.
    pub(super) fn file(self, name: &str) -> Option<Vec<u8>> {
        self.0.into_iter().find(|part| part.name == name).map(|part| part.content)
    }
}

/// Boundary of a media type: 1 to 70 characters, of which browsers use letters, digits and hyphens.
fn boundary(kind: &str) -> Option<&str> {
    let parameters = kind.split(';').skip(1).filter_map(|one| one.split_once('='));
    let (_, text) = parameters
        .map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
        .find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    let is_legal =
        (1..=70).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    (is_legal && essence(kind).eq_ignore_ascii_case(KIND)).then_some(text)
}

/// Name of the field in the head of a part.
fn name(head: &str) -> Option<String> {
    let value = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then_some(value.trim())
    })?;
    let rest = value.strip_prefix("form-data;")?;
    let (_, name) = rest.split_once(" name=\"")?;
    Some(name.split_once('"')?.0.to_owned())
}

/// Position of the first occurrence.
fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let first = *what.first()?;
    let mut at = 0;
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| byte == first)?;
        if bytes[at..].starts_with(what) {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(parts: &[(&str, &[u8])], boundary: &str) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, content) in parts {
            out.extend(
                format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"; ")
                    .bytes(),
            );
            out.extend(b"filename=\"a \\\"b.xml\"\r\nContent-Type: text/xml\r\n\r\n");
            out.extend(*content);
            out.extend(b"\r\n");
        }
        out.extend(format!("--{boundary}--\r\n").bytes());
        out
    }

    proptest! {
        #[test]
        fn written_forms_are_parsed(content in prop::collection::vec(any::<u8>(), 0..200), field in "[ -~]{0,20}") {
            let boundary = "----WebKitFormBoundaryx";
            let bytes = written(&[("form", field.as_bytes()), ("file", &content)], boundary);
            let upload = Upload::parse(&bytes, boundary).unwrap();
            prop_assert_eq!(upload.text("form"), &field);
            prop_assert_eq!(upload.text("none"), "");
            prop_assert_eq!(upload.file("file"), Some(content));
        }

        #[test]
        fn arbitrary_input_does_not_panic(bytes in prop::collection::vec(prop::sample::select(b"\r\n-b:\"; n".to_vec()), 0..80)) {
            let _ = Upload::parse(&bytes, "b");
        }
    }

    #[test]
    fn malformed_forms_are_refused() {
        let whole = written(&[("a", b"x"), ("b", b"y")], "bb");
        assert!(Upload::parse(&whole, "bb").is_some());
        for end in 0..whole.len() - 4 {
            assert!(Upload::parse(&whole[..end], "bb").is_none(), "{end}");
        }
        assert!(Upload::parse(&written(&[("a", b"x"), ("a", b"y")], "bb"), "bb").is_none());
        let many: Vec<_> = (0..17).map(|number| number.to_string()).collect();
        let many: Vec<_> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
        assert!(Upload::parse(&written(&many[..16], "bb"), "bb").is_some());
        assert!(Upload::parse(&written(&many, "bb"), "bb").is_none());
        let head = format!("--b\r\n{}: x\r\n\r\n\r\n--b--", "x".repeat(5_000));
        assert!(Upload::parse(head.as_bytes(), "b").is_none());
    }

    #[test]
    fn a_boundary_is_one_of_a_form() {
        assert_eq!(boundary("multipart/form-data; boundary=abc"), Some("abc"));
        assert_eq!(boundary("Multipart/Form-Data;Boundary=\"a-b\""), Some("a-b"));
        for other in [
            "multipart/form-data",
            "multipart/mixed; boundary=abc",
            "multipart/form-data; boundary=",
            "multipart/form-data; boundary=a b",
        ] {
            assert_eq!(boundary(other), None, "{other}");
        }
        assert_eq!(boundary(&format!("multipart/form-data; boundary={}", "x".repeat(71))), None);
    }
}
