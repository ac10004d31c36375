//! The headers of a part (RFC 2046 5.1, RFC 2183).

use super::parameters::{extended, is_token, parameter};
use super::{Limits, MultipartError};

/// The headers of a part, in order. Names are compared without case; of several headers with one name the
/// first counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// The value of a header, without the white space around it.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Names in lower case, and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The media type with its parameters.
    pub fn content_type(&self) -> Option<&str> {
        self.value("content-type")
    }

    /// The announced length. The delimiter decides where the part ends; comparing the two is left to the code
    /// that stores the part.
    pub fn content_length(&self) -> Option<u64> {
        let digits = self.value("content-length")?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    }

    /// Compression of the content: `gzip` or none, from CouchDB.
    pub fn content_encoding(&self) -> Option<&str> {
        self.value("content-encoding")
    }

    /// The name in `Content-Disposition`: `filename*` if it can be read, or else `filename`.
    pub fn filename(&self) -> Option<String> {
        let disposition = self.value("content-disposition")?;
        parameter(disposition, "filename*")
            .and_then(|value| extended(&value))
            .or_else(|| parameter(disposition, "filename"))
    }

    /// Whether the part is the attachment with this name. CouchDB writes a name between quotes without
    /// escaping it, so that a name with a quote or a backslash cannot be parsed correctly. This function also
    /// accepts such names.
    pub fn is_named(&self, name: &str) -> bool {
        let raw = || {
            let disposition = self.value("content-disposition")?;
            disposition.strip_prefix("attachment; filename=\"")?.strip_suffix('"')
        };
        raw() == Some(name) || self.filename().as_deref() == Some(name)
    }

    /// Parses lines up to and including an empty one; they begin at byte `start` of the body.
    pub(super) fn read(
        head: &[u8],
        part: usize,
        start: u64,
        limits: Limits,
    ) -> Result<Self, MultipartError> {
        let mut headers: Vec<(String, String)> = Vec::new();
        let mut at = start;
        for line in head.split_inclusive(|byte| *byte == b'\n') {
            let refused = || MultipartError::Header { part, at };
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let text = std::str::from_utf8(text.strip_suffix(b"\r").unwrap_or(text));
            let text = text.map_err(|_| refused())?;
            if text.contains(['\r', '\0']) {
                return Err(refused());
            }
            if text.starts_with([' ', '\t']) {
                headers.last_mut().ok_or_else(refused)?.1.push_str(text);
            } else if !text.is_empty() {
                if headers.len() == limits.headers {
                    return Err(MultipartError::TooManyHeaders { part, at, limit: limits.headers });
                }
                let (name, value) = text.split_once(':').ok_or_else(refused)?;
                if !is_token(name) {
                    return Err(refused());
                }
                headers.push((name.to_ascii_lowercase(), value.to_owned()));
            }
            at += line.len() as u64;
        }
        for (_, value) in &mut headers {
            *value = value.trim_matches([' ', '\t']).to_owned();
        }
        Ok(Self(headers))
    }
}
