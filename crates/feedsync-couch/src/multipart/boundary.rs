//! Kinds of multipart bodies, and their boundaries.

use std::fmt;
use std::str::FromStr;

use super::MultipartError;
use super::parameters::{Parameters, parameters};

/// Relation of the parts to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `multipart/mixed`: the response to `open_revs`, one revision after another.
    Mixed,
    /// `multipart/related`: a document, then its attachments.
    Related,
}

/// The text between parts: 1 to 70 characters of RFC 2046 5.1.1, none of which needs an escape in quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary(String);

/// Parses the `Content-Type` of a body. Other parameters are ignored.
pub fn boundary(content_type: &str) -> Result<(Kind, Boundary), MultipartError> {
    let refused = || MultipartError::ContentType(content_type.to_owned());
    let Parameters { essence, pairs } = parameters(content_type).ok_or_else(refused)?;
    let kind = match &*essence {
        "multipart/mixed" => Kind::Mixed,
        "multipart/related" => Kind::Related,
        _ => return Err(refused()),
    };
    let mut boundaries = pairs.into_iter().filter(|(name, _)| name == "boundary");
    match (boundaries.next(), boundaries.next()) {
        (Some((_, text)), None) => Ok((kind, text.parse()?)),
        _ => Err(MultipartError::NoBoundary),
    }
}

/// A boundary of 32 hexadecimal digits. The author of the parts' contents must not know the seed, or they
/// could write a delimiter.
pub fn boundary_of(seed: u128) -> Boundary {
    Boundary(format!("{seed:032x}"))
}

impl Kind {
    /// The media type without parameters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mixed => "multipart/mixed",
            Self::Related => "multipart/related",
        }
    }

    /// The `Content-Type` of a body with a boundary.
    pub fn content_type(self, boundary: &Boundary) -> String {
        format!("{}; boundary=\"{boundary}\"", self.as_str())
    }
}

impl Boundary {
    /// The text, as it is in delimiters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Boundary {
    type Err = MultipartError;
    fn from_str(text: &str) -> Result<Self, MultipartError> {
        let is_character =
            |byte: u8| byte.is_ascii_alphanumeric() || b" '()+_,-./:=?".contains(&byte);
        let is_boundary = (1..=70).contains(&text.len())
            && text.bytes().all(is_character)
            && !text.ends_with(' ');
        if is_boundary {
            Ok(Self(text.to_owned()))
        } else {
            Err(MultipartError::Boundary(text.to_owned()))
        }
    }
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
