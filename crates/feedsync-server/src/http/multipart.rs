//! Forms as `multipart/form-data` (RFC 7578), parsed strictly: an invalid form is refused completely.

use crate::http::media_types::essence;

/// Media type of these forms.
pub(crate) const MULTIPART_FORM: &str = "multipart/form-data";

/// Maximum number of parts of a form, and maximum size of the head of each, in bytes.
const MAX_PARTS: usize = 16;
const MAX_HEAD_BYTES: usize = 4 << 10;

/// The fields and files of a form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MultipartForm(Vec<Part>);

#[derive(Debug, PartialEq, Eq)]
struct Part {
    name: String,
    content: Vec<u8>,
}

impl MultipartForm {
    /// Parses a body with the boundary of its media type.
    pub(crate) fn parse(bytes: &[u8], boundary: &str) -> Option<Self> {
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
    pub(crate) fn text(&self, name: &str) -> &str {
        let part = self.0.iter().find(|part| part.name == name);
        part.and_then(|part| std::str::from_utf8(&part.content).ok()).unwrap_or_default()
    }

    /// The fields that are text, with their values.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .filter_map(|part| Some((&*part.name, std::str::from_utf8(&part.content).ok()?)))
    }

    /// Content of a file.
    pub(crate) fn file(self, name: &str) -> Option<Vec<u8>> {
        self.0.into_iter().find(|part| part.name == name).map(|part| part.content)
    }
}

/// Boundary of a media type: 1 to 70 characters, of which browsers use letters, digits and hyphens.
pub(crate) fn boundary(kind: &str) -> Option<&str> {
    let parameters = kind.split(';').skip(1).filter_map(|one| one.split_once('='));
    let (_, text) = parameters
        .map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
        .find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    let is_legal =
        (1..=70).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    (is_legal && essence(kind).eq_ignore_ascii_case(MULTIPART_FORM)).then_some(text)
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
            let form = MultipartForm::parse(&bytes, boundary).unwrap();
            prop_assert_eq!(form.text("form"), &field);
            prop_assert_eq!(form.text("none"), "");
            prop_assert_eq!(form.file("file"), Some(content));
        }

        #[test]
        fn arbitrary_input_does_not_panic(bytes in prop::collection::vec(prop::sample::select(b"\r\n-b:\"; n".to_vec()), 0..80)) {
            let _ = MultipartForm::parse(&bytes, "b");
        }
    }

    #[test]
    fn malformed_forms_are_refused() {
        let whole = written(&[("a", b"x"), ("b", b"y")], "bb");
        assert!(MultipartForm::parse(&whole, "bb").is_some());
        for end in 0..whole.len() - 4 {
            assert!(MultipartForm::parse(&whole[..end], "bb").is_none(), "{end}");
        }
        assert!(MultipartForm::parse(&written(&[("a", b"x"), ("a", b"y")], "bb"), "bb").is_none());
        let many: Vec<_> = (0..17).map(|number| number.to_string()).collect();
        let many: Vec<_> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
        assert!(MultipartForm::parse(&written(&many[..16], "bb"), "bb").is_some());
        assert!(MultipartForm::parse(&written(&many, "bb"), "bb").is_none());
        let head = format!("--b\r\n{}: x\r\n\r\n\r\n--b--", "x".repeat(5_000));
        assert!(MultipartForm::parse(head.as_bytes(), "b").is_none());
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
