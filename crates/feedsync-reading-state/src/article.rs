//! Id of an article within its feed (LR7).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Maximum size of an article's id, in bytes.
pub const MAX_ARTICLE_ID_BYTES: usize = 1_024;

/// The id of an article within its feed: an opaque text that is compared byte by byte.
///
/// [`identify`](crate::identify()) assigns it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArticleId(Arc<str>);

/// A text that is not a valid id of an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the id of an article must have 1 to {MAX_ARTICLE_ID_BYTES} bytes")]
pub struct ArticleIdError;

impl ArticleId {
    /// The id for a name that a feed gives an article; a name that is too long is replaced by its hash.
    /// `None` for an empty name.
    pub fn of(name: &str) -> Option<Self> {
        match name.len() {
            0 => None,
            1..=MAX_ARTICLE_ID_BYTES => Some(Self(name.into())),
            _ => Some(Self(format!("sha256:{}", hash(&[name])).into())),
        }
    }

    /// The text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Hash of a list of texts. Lists that differ only in how the text is split have different hashes.
pub(crate) fn digest(texts: &[&str]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text.as_bytes());
    }
    digest.finalize().into()
}

/// The same in hexadecimal digits.
pub(crate) fn hash(texts: &[&str]) -> String {
    digest(texts).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl FromStr for ArticleId {
    type Err = ArticleIdError;
    fn from_str(text: &str) -> Result<Self, ArticleIdError> {
        if (1..=MAX_ARTICLE_ID_BYTES).contains(&text.len()) {
            Ok(Self(text.into()))
        } else {
            Err(ArticleIdError)
        }
    }
}

impl TryFrom<String> for ArticleId {
    type Error = ArticleIdError;
    fn try_from(text: String) -> Result<Self, ArticleIdError> {
        text.parse()
    }
}

impl From<ArticleId> for String {
    fn from(id: ArticleId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl fmt::Display for ArticleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ArticleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_bounded() {
        assert_eq!(ArticleId::of(""), None);
        assert_eq!("".parse::<ArticleId>(), Err(ArticleIdError));
        let (most, more) = ("x".repeat(MAX_ARTICLE_ID_BYTES), "x".repeat(MAX_ARTICLE_ID_BYTES + 1));
        assert_eq!(ArticleId::of(&most).unwrap().as_str(), most);
        assert_eq!(more.parse::<ArticleId>(), Err(ArticleIdError));
        let id = ArticleId::of(&more).unwrap();
        assert_eq!(id.as_str().len(), "sha256:".len() + 64);
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        assert_ne!(ArticleId::of(&format!("{more}x")), Some(id));
    }
}
