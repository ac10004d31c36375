//! Numbers by which newsreaders identify feeds, folders and articles.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// Error for a text that is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a number")]
pub struct NumberError;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(i64);

        impl $name {
            /// Wraps a number.
            pub const fn new(number: i64) -> Self {
                Self(number)
            }

            /// Returns the number.
            pub const fn get(self) -> i64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = NumberError;
            fn from_str(text: &str) -> Result<Self, NumberError> {
                let digits = text.strip_prefix('-').unwrap_or(text);
                if !digits.starts_with(|first: char| first.is_ascii_digit()) {
                    return Err(NumberError);
                }
                text.parse().map(Self).map_err(|_| NumberError)
            }
        }
    };
}

number! {
    /// Number of a feed. Assigned numbers are positive.
    FeedNumber
}

number! {
    /// Number of a folder. Assigned numbers are positive, and fit in 31 bits.
    FolderNumber
}

number! {
    /// Number of a tag. Assigned numbers are positive, and fit in 31 bits.
    TagNumber
}

number! {
    /// Number of an article. Assigned numbers are positive; other servers use negative ones.
    ArticleNumber
}

impl FolderNumber {
    /// Number for no folder.
    pub const TOP: Self = Self(0);
}
