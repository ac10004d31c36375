//! Tokens: 256 random bits, of which a store keeps only the digest.
//!
//! A Fever client does not send its password, but a key: the MD5 of the user name and the password. So the token of
//! such a client is that key, and its password is random and not stored. Keys have a prefix of their own here, which
//! no client can send: a key signs in where [`TokenSecret::fever_key`] reads it, and nowhere else.

use std::fmt::{self, Write as _};

use feedsync_store::{Digest, Environment, UserName};
use md5::{Digest as _, Md5};

/// Prefix of tokens, by which people and programs recognise a leaked one.
pub(super) const PREFIX: &str = "fsy_";

/// Prefix of the keys of Fever clients.
const FEVER_PREFIX: &str = "fever:";

/// Characters of the password of a Fever client: 32 that people do not confuse.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// The text of a token: `fsy_` and 64 hexadecimal digits; or the key of a Fever client.
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

    /// Creates a random password of a Fever client of a user, of 120 bits, and the key that the client derives from it.
    pub(super) fn random_fever(environment: &dyn Environment, user: &UserName) -> (String, Self) {
        let mut password = String::new();
        for group in [environment.random(), environment.random()] {
            for place in 0..12 {
                if place % 6 == 0 && !password.is_empty() {
                    password.push('-');
                }
                let letter = usize::try_from((group >> (place * 5)) & 31).unwrap_or_default();
                password.push(char::from(LETTERS[letter]));
            }
        }
        let key = Self::of_fever(user, &password);
        (password, key)
    }

    /// Returns the key of a Fever client for a user name and a password.
    fn of_fever(user: &UserName, password: &str) -> Self {
        let mut text = FEVER_PREFIX.to_owned();
        for byte in Md5::digest(format!("{user}:{password}")) {
            // Writing to a string does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// Parses the key that a Fever client sends: 32 hexadecimal digits.
    pub fn fever_key(text: &str) -> Option<Self> {
        let is_key = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_key.then(|| Self(format!("{FEVER_PREFIX}{}", text.to_ascii_lowercase())))
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
    fn a_fever_key_is_the_md5_of_name_and_password() {
        let anna: UserName = "anna".parse().unwrap();
        let key = TokenSecret::of_fever(&anna, "secret");
        assert_eq!(key.as_str(), "fever:b8cf310cd392550c534812a2fcd36db2");
        assert_eq!(TokenSecret::fever_key("b8cf310cd392550c534812a2fcd36db2"), Some(key.clone()));
        assert_eq!(
            TokenSecret::fever_key(&"b8cf310cd392550c534812a2fcd36db2".to_uppercase()),
            Some(key.clone())
        );
        // No other interface reads a key.
        assert_eq!(TokenSecret::parse(key.as_str()), None);
        assert_eq!(TokenSecret::parse("b8cf310cd392550c534812a2fcd36db2"), None);
        let random = TokenSecret::random(&SystemEnvironment);
        for text in ["", "0", &"g".repeat(32), key.as_str(), random.as_str(), &random.as_str()[4..]]
        {
            assert_eq!(TokenSecret::fever_key(text), None, "{text}");
        }
        let (password, key) = TokenSecret::random_fever(&SystemEnvironment, &anna);
        assert_eq!(TokenSecret::of_fever(&anna, &password), key);
        assert_ne!(TokenSecret::random_fever(&SystemEnvironment, &anna).0, password);
        let groups: Vec<_> = password.split('-').collect();
        assert!(groups.len() == 4 && groups.iter().all(|group| group.len() == 6), "{password}");
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
