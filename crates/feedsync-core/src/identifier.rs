//! Identifiers of items and endpoints.
//!
//! Both are Namespace Specific Strings of RFC 2141 (FeedSync 2.1 rule 1, 2.4, 2.5): ASCII letters and
//! digits, ``()+,-.:=@;$_!*'`` and `%hh`. `/`, `?` and `#` are accepted, since the grammar allows
//! them, but never generated (see [`ItemId::has_reserved`]). Identifiers are compared by code point
//! (2.1 rule 4) and as text: `%2F` and `%2f` are two identifiers. An invalid identifier is refused,
//! never repaired: a repaired identifier would name something else.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Maximum size of an identifier, in bytes (2.1 rule 3 lets an implementation set a limit).
pub const MAX_IDENTIFIER_BYTES: usize = 1024;

/// Reason why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentifierError {
    /// 2.1 rule 2: an attribute that is set is not empty.
    #[error("an identifier must not be empty")]
    Empty,
    /// Longer than [`MAX_IDENTIFIER_BYTES`].
    #[error("an identifier has at most {MAX_IDENTIFIER_BYTES} bytes, this one has {length}")]
    TooLong {
        /// Length of the refused text in bytes.
        length: usize,
    },
    /// A character outside the grammar.
    #[error("{character:?} at byte {index} is not allowed in an identifier (RFC 2141)")]
    Character {
        /// Byte offset of the character.
        index: usize,
        /// The character.
        character: char,
    },
    /// `%` without two hexadecimal digits, or `%00`.
    #[error("'%' at byte {index} must be followed by two hexadecimal digits other than 00")]
    Percent {
        /// Byte offset of the percent sign.
        index: usize,
    },
}

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'(' | b')'
                | b'+'
                | b','
                | b'-'
                | b'.'
                | b':'
                | b'='
                | b'@'
                | b';'
                | b'$'
                | b'_'
                | b'!'
                | b'*'
                | b'\''
        )
}

const fn is_reserved(byte: u8) -> bool {
    matches!(byte, b'/' | b'?' | b'#')
}

fn check(text: &str) -> Result<(), IdentifierError> {
    if text.is_empty() {
        return Err(IdentifierError::Empty);
    }
    if text.len() > MAX_IDENTIFIER_BYTES {
        return Err(IdentifierError::TooLong { length: text.len() });
    }
    let bytes = text.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        let byte = bytes[index];
        if is_plain(byte) || is_reserved(byte) {
            index += 1;
        } else if byte == b'%' {
            match bytes.get(index + 1..index + 3) {
                Some(hex) if hex.iter().all(u8::is_ascii_hexdigit) && hex != b"00" => index += 3,
                _ => return Err(IdentifierError::Percent { index }),
            }
        } else {
            let character = text[index..].chars().next().unwrap_or('\u{fffd}');
            return Err(IdentifierError::Character { index, character });
        }
    }
    Ok(())
}

/// Percent-encodes the UTF-8 octets outside the grammar, and `%`, `/`, `?`, `#`, in upper-case hex.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        if is_plain(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Parses an identifier, whose exact text is preserved.
            pub fn new(text: &str) -> Result<Self, IdentifierError> {
                check(text)?;
                Ok(Self(text.into()))
            }

            /// Makes an identifier of any text, percent-encoding what the grammar does not allow. It
            /// refuses only a text whose encoding is empty or too long, or contains a NUL.
            pub fn encoded(text: &str) -> Result<Self, IdentifierError> {
                Self::new(&encode(text))
            }

            /// The text of the identifier.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether it contains `/`, `?` or `#`, which the grammar allows and RFC 2141 2.3.2
            /// advises against: this deserves a warning.
            pub fn has_reserved(&self) -> bool {
                self.0.bytes().any(is_reserved)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdentifierError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

identifier! {
    /// Name of an item, which is permanent and the same in every feed that contains it (2.4).
    ///
    /// ```
    /// # use feedsync_core::ItemId;
    /// let id = ItemId::new("item_1_myapp_2005-05-21T11:43:33Z")?;
    /// assert_eq!(id.as_str(), "item_1_myapp_2005-05-21T11:43:33Z");
    /// assert!(ItemId::new("two words").is_err());
    /// assert_eq!(ItemId::encoded("two words")?.as_str(), "two%20words");
    /// # Ok::<(), feedsync_core::IdentifierError>(())
    /// ```
    ItemId
}

identifier! {
    /// Name of one authoring line of an endpoint (2.5): no two concurrent edits of an item share it.
    By
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ascii_character_is_judged_by_the_grammar() {
        let allowed =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789()+,-.:=@;$_!*'/?#";
        for code in 0u8..=127 {
            let character = char::from(code);
            let text = character.to_string();
            assert_eq!(ItemId::new(&text).is_ok(), allowed.contains(character), "{character:?}");
        }
    }

    #[test]
    fn faults_name_the_place() {
        assert_eq!(By::new(""), Err(IdentifierError::Empty));
        for (text, index) in [("%", 0), ("a%4", 1), ("%zz", 0), ("ab%00", 2)] {
            assert_eq!(By::new(text), Err(IdentifierError::Percent { index }), "{text}");
        }
        assert_eq!(
            By::new("caf\u{e9}"),
            Err(IdentifierError::Character { index: 3, character: '\u{e9}' })
        );
        assert!(By::new(&"a".repeat(MAX_IDENTIFIER_BYTES)).is_ok());
        assert_eq!(By::new(&"a".repeat(1025)), Err(IdentifierError::TooLong { length: 1025 }));
    }

    #[test]
    fn text_is_identity() {
        assert_ne!(ItemId::new("%2F"), ItemId::new("%2f"));
        assert!(ItemId::new("Z").unwrap() < ItemId::new("a").unwrap());
        assert!(ItemId::new("a/b").is_ok_and(|id| id.has_reserved()));
        assert_eq!(ItemId::encoded("a/b%é").unwrap().as_str(), "a%2Fb%25%C3%A9");
    }
}
