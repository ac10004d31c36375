//! Names that users choose: titles, folders and tags.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Deserialize;

/// Maximum size of a title, of a folder's name, and of a tag, in bytes.
pub const MAX_NAME_BYTES: usize = 512;

/// Maximum nesting depth of folders.
pub const MAX_FOLDER_DEPTH: usize = 16;

/// Why a text is not a valid name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Empty, too long, or with characters that are not allowed.
    #[error(
        "a name must have 1 to {MAX_NAME_BYTES} bytes, must not be blank, and must not have \
         control characters, U+FFFE or U+FFFF"
    )]
    Name,
    /// Too many folders.
    #[error("folders can be nested at most {MAX_FOLDER_DEPTH} deep")]
    Folders,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The closest valid name: runs of white space and of characters that are not allowed become one
            /// blank, and a text that is too long is truncated. `None` if nothing is left.
            pub fn cleaned(text: &str) -> Option<Self> {
                cleaned(text).map(|text| Self(text.into()))
            }

            /// The text of the name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                let is_legal = text.len() <= MAX_NAME_BYTES
                    && !text.trim().is_empty()
                    && !text.chars().any(is_illegal);
                if is_legal { Ok(Self(text.into())) } else { Err(NameError::Name) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

name! {
    /// Title of a feed that a user chose.
    Title
}

name! {
    /// The name of one folder.
    FolderName
}

name! {
    /// A tag of an article.
    Tag
}

/// Control characters and those that no XML document can contain: a name must be the same in every format.
fn is_illegal(character: char) -> bool {
    character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}')
}

fn cleaned(text: &str) -> Option<String> {
    let is_gap = |character: char| character.is_whitespace() || is_illegal(character);
    let mut clean = String::new();
    for word in text.split(is_gap).filter(|word| !word.is_empty()) {
        if !clean.is_empty() {
            clean.push(' ');
        }
        clean.push_str(word);
        if clean.len() > MAX_NAME_BYTES {
            clean.truncate(clean.floor_char_boundary(MAX_NAME_BYTES));
            clean.truncate(clean.trim_end().len());
            break;
        }
    }
    (!clean.is_empty()).then_some(clean)
}

/// Folder of a subscription: the names of the nested folders, the outermost first.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "Vec<FolderName>")]
pub struct Folder(Vec<FolderName>);

impl Folder {
    /// The top, outside all folders.
    pub const TOP: Self = Self(Vec::new());

    /// The folder with these names.
    pub fn new(names: Vec<FolderName>) -> Result<Self, NameError> {
        if names.len() <= MAX_FOLDER_DEPTH { Ok(Self(names)) } else { Err(NameError::Folders) }
    }

    /// The names, the outermost first; none at the top.
    pub fn names(&self) -> &[FolderName] {
        &self.0
    }
}

impl TryFrom<Vec<FolderName>> for Folder {
    type Error = NameError;
    fn try_from(names: Vec<FolderName>) -> Result<Self, NameError> {
        Self::new(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_or_are_refused() {
        for legal in ["a", " News ", "\u{e4}\u{1f600}", &"x".repeat(MAX_NAME_BYTES)] {
            assert_eq!(legal.parse::<Tag>().unwrap().as_str(), legal);
        }
        for illegal in [
            "",
            "  ",
            "\u{a0}",
            "a\nb",
            "a\u{0}",
            "\u{85}",
            "a\u{ffff}",
            &"x".repeat(MAX_NAME_BYTES + 1),
        ] {
            assert_eq!(illegal.parse::<Tag>(), Err(NameError::Name), "{illegal:?}");
        }
        let names = |count| vec!["a".parse().unwrap(); count];
        assert!(Folder::new(names(MAX_FOLDER_DEPTH)).is_ok());
        assert_eq!(Folder::new(names(MAX_FOLDER_DEPTH + 1)), Err(NameError::Folders));
    }

    #[test]
    fn cleaned_texts_are_valid_names() {
        let clean = |text: &str| Title::cleaned(text).map(|title| title.to_string());
        assert_eq!(clean(" a \n\tb\u{0}c ").as_deref(), Some("a b c"));
        assert_eq!(clean(" \u{0} "), None);
        for long in
            ["\u{1f600}".repeat(400), "x ".repeat(400), "x".repeat(MAX_NAME_BYTES - 1) + " y"]
        {
            let cut = clean(&long).unwrap();
            assert!((MAX_NAME_BYTES - 4..=MAX_NAME_BYTES).contains(&cut.len()), "{}", cut.len());
            assert_eq!(cut.parse::<Title>().unwrap().as_str(), cut);
            assert!(long.starts_with(&cut));
        }
    }
}
