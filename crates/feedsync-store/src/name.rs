//! Names of collections and endpoints.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Why a text is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Not `[a-z][a-z0-9_-]{0,62}`.
    #[error(
        "{0:?} is not a collection name: use a lower-case letter, then at most 62 lower-case \
         letters, digits, '_' or '-'"
    )]
    Collection(String),
    /// Not `[A-Za-z0-9][A-Za-z0-9._-]{0,62}`.
    #[error(
        "{0:?} is not an endpoint name: use a letter or digit, then at most 62 letters, digits, \
         '.', '_' or '-'"
    )]
    Endpoint(String),
    /// Not `[a-z][a-z0-9._-]{0,62}`.
    #[error(
        "{0:?} is not a user name: use a lower-case letter, then at most 62 lower-case letters, \
         digits, '.', '_' or '-'"
    )]
    User(String),
    /// Not `[0-9a-f-]{1,36}`.
    #[error("{0:?} is not the id of a user: use at most 36 lower-case hexadecimal digits and '-'")]
    UserId(String),
    /// Reserved name: `import` signs imports from plain feeds, and `couch` signs edits of documents.
    #[error("the endpoint name {0:?} is reserved: choose another one")]
    Reserved(String),
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The text of the name.
            pub fn as_str(&self) -> &str {
                &self.0
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
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

name! {
    /// The name of a collection: `[a-z][a-z0-9_-]{0,62}`.
    CollectionName
}

name! {
    /// The name of an endpoint. It is set once, and is the first part of every `by` that the endpoint mints.
    EndpointName
}

name! {
    /// The name of a user: `[a-z][a-z0-9._-]{0,62}`.
    UserName
}

name! {
    /// The id of a user, minted once and never given to another user, even one of the same name.
    UserId
}

/// Whether a text is a lower-case letter, then at most 62 lower-case letters, digits and these marks.
fn is_lower_case_name(text: &str, marks: &[u8]) -> bool {
    let rest =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || marks.contains(&byte);
    text.len() <= 63
        && text.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
        && text.bytes().all(rest)
}

impl CollectionName {
    /// Parses a name.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if is_lower_case_name(text, b"_-") {
            Ok(Self(text.into()))
        } else {
            Err(NameError::Collection(text.to_owned()))
        }
    }
}

impl UserName {
    /// Parses a name.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if is_lower_case_name(text, b"._-") {
            Ok(Self(text.into()))
        } else {
            Err(NameError::User(text.to_owned()))
        }
    }
}

impl UserId {
    /// Parses an id.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let is_legal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-');
        match (1..=36).contains(&text.len()) && text.bytes().all(is_legal) {
            true => Ok(Self(text.into())),
            false => Err(NameError::UserId(text.to_owned())),
        }
    }
}

impl EndpointName {
    /// Parses a name.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let legal = text.len() <= 63
            && text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
            && text.bytes().all(rest);
        if !legal {
            return Err(NameError::Endpoint(text.to_owned()));
        }
        let is_reserved = |name: &str| {
            text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if is_reserved("import") || is_reserved("couch") {
            return Err(NameError::Reserved(text.to_owned()));
        }
        Ok(Self(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_is_named_in_lower_case() {
        for legal in ["a", "notes", "a-b_c9", &"a".repeat(63)] {
            assert!(CollectionName::new(legal).is_ok(), "{legal}");
        }
        for illegal in ["", "9a", "-a", "Notes", "a b", "a/b", "é", &"a".repeat(64)] {
            assert!(CollectionName::new(illegal).is_err(), "{illegal}");
        }
    }

    #[test]
    fn a_user_is_named_in_lower_case() {
        for legal in ["anna", "anna.smith", "a-b_c9"] {
            assert!(UserName::new(legal).is_ok(), "{legal}");
        }
        for illegal in ["", "Anna", "9", "a:b", "a b", "anna@home", &"a".repeat(64)] {
            assert!(UserName::new(illegal).is_err(), "{illegal}");
        }
    }

    #[test]
    fn reserved_endpoint_names_are_rejected() {
        assert!(EndpointName::new("anna.laptop-2").is_ok());
        for illegal in ["", ".a", "a b", "a%20", "import", "import.x", "couch", "couch.1-a"] {
            assert!(EndpointName::new(illegal).is_err(), "{illegal}");
        }
        assert!(EndpointName::new("importer").is_ok());
    }
}
