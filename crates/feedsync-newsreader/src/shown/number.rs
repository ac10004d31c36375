//! The numbers by which newsreaders know feeds, folders and articles.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A text that is no number of anything.
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
            /// This number.
            pub const fn new(number: i64) -> Self {
                Self(number)
            }

            /// The number itself.
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
    /// The number of a feed. Those that are given are positive.
    FeedNumber
}

number! {
    /// The number of a folder. Those that are given are positive, and fit in 31 bits.
    FolderNumber
}

number! {
    /// The number of a tag. Those that are given are positive, and fit in 31 bits.
    TagNumber
}

number! {
    /// The number of an article. Those that are given are positive; other servers know negative ones.
    ArticleNumber
}

impl FolderNumber {
    /// That of no folder.
    pub const TOP: Self = Self(0);
}
