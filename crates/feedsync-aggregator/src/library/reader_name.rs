//! Names of readers.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Maximum length of a reader name, in bytes.
pub const MAX_READER_NAME_BYTES: usize = 256;

/// Name of a reader: an opaque text that is compared by its bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReaderName(Arc<str>);

/// Error for a text that is not a reader name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name of a reader must have 1 to {MAX_READER_NAME_BYTES} bytes")]
pub struct ReaderNameError;

impl ReaderName {
    /// The text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ReaderName {
    type Err = ReaderNameError;
    fn from_str(text: &str) -> Result<Self, ReaderNameError> {
        if (1..=MAX_READER_NAME_BYTES).contains(&text.len()) {
            Ok(Self(text.into()))
        } else {
            Err(ReaderNameError)
        }
    }
}

impl fmt::Display for ReaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ReaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_bounded() {
        let most = "x".repeat(MAX_READER_NAME_BYTES);
        assert_eq!(most.parse::<ReaderName>().unwrap().as_str(), most);
        assert_eq!("".parse::<ReaderName>(), Err(ReaderNameError));
        assert_eq!(format!("{most}x").parse::<ReaderName>(), Err(ReaderNameError));
    }
}
