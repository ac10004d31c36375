//! Tokens: 256 random bits, of which a store keeps only the digest.

use std::fmt::{self, Write as _};

use feedsync_store::{Digest, Environment};

/// Prefix of tokens, by which people and programs recognise a leaked one.
pub(super) const PREFIX: &str = "fsy_";

/// The text of a token: `fsy_` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(String);

impl TokenSecret {
    /// Creates a random token.
    pub(super) fn random(environment: &dyn Environment) -> Self {
        let mut text = PREFIX.to_owned();
        for _ in 0..4 {
            // Writing to a string does not fail.
            let _ = write!(text, "{:016x}", environment.random());
        }
        Self(text)
    }

    /// Parses a text that may be a token.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (digits.len() == 64 && digits.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// Returns the text, for the recipient of the token.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the digest by which a store finds the token.
    pub fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

/// A text that cannot be the label of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a label must be one line of at most 100 characters")]
pub struct LabelError;

/// Checks the label that a user gives a token.
pub fn label(text: &str) -> Result<String, LabelError> {
    let text = text.trim();
    let fits = text.chars().count() <= 100 && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned()).ok_or(LabelError)
}

impl fmt::Debug for TokenSecret {
    /// Hides the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use feedsync_store::SystemEnvironment;

    use super::*;

    #[test]
    fn a_label_is_one_short_line() {
        assert_eq!(label(" my <b>phone</b> ").unwrap(), "my <b>phone</b>");
        assert_eq!(label("").unwrap(), "");
        for text in ["a\nb", "a\u{7}b", &"x".repeat(101)] {
            assert_eq!(label(text), Err(LabelError), "{text:?}");
        }
    }

    #[test]
    fn a_token_is_parsed_and_never_shown() {
        let secret = TokenSecret::random(&SystemEnvironment);
        assert_eq!(secret.as_str().len(), 68);
        assert_eq!(TokenSecret::parse(secret.as_str()), Some(secret.clone()));
        assert_ne!(TokenSecret::random(&SystemEnvironment), secret);
        assert_eq!(format!("{secret:?}"), "Secret");
        for text in ["", "fsy_", &secret.as_str()[4..], &secret.as_str().to_uppercase(), "fsy_é"] {
            assert_eq!(TokenSecret::parse(text), None, "{text}");
        }
    }
}
