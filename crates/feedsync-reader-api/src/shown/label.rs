//! Names of folders and tags in dialects that use one namespace for both.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use feedsync_reading_state::{
    Folder, FolderName, MAX_FOLDER_DEPTH, MAX_NAME_BYTES, NameError, Tag,
};

/// Separator between the names of nested folders.
const SEPARATOR: &str = " / ";

/// Maximum length of a label, in bytes.
pub const MAX_LABEL_BYTES: usize = MAX_FOLDER_DEPTH * (MAX_NAME_BYTES + SEPARATOR.len());

/// Name of a folder or of a tag. Newsreaders do not support nested folders, so the names of a path of folders are
/// joined by `" / "`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(Arc<str>);

/// Error for a text that is not a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a label must have 1 to {MAX_LABEL_BYTES} bytes, must not be blank, and must not have control \
     characters"
)]
pub struct LabelError;

impl Label {
    /// Label of a folder; the top has none.
    pub fn of_folder(folder: &Folder) -> Option<Self> {
        let names: Vec<&str> = folder.names().iter().map(FolderName::as_str).collect();
        (!names.is_empty()).then(|| Self(names.join(SEPARATOR).into()))
    }

    /// Label of a tag.
    pub fn of_tag(tag: &Tag) -> Self {
        Self(tag.as_str().into())
    }

    /// Folder to create for a label that names no existing folder.
    pub fn folder(&self) -> Result<Folder, NameError> {
        Folder::new(self.0.split(SEPARATOR).map(str::parse).collect::<Result<_, _>>()?)
    }

    /// Tag with this name.
    pub fn tag(&self) -> Result<Tag, NameError> {
        self.0.parse()
    }

    /// The text of the label.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Label {
    type Err = LabelError;
    fn from_str(text: &str) -> Result<Self, LabelError> {
        let is_illegal = |character: char| {
            character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}')
        };
        let is_legal = text.len() <= MAX_LABEL_BYTES
            && !text.trim().is_empty()
            && !text.chars().any(is_illegal);
        if is_legal { Ok(Self(text.into())) } else { Err(LabelError) }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}
