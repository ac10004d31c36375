//! What folders and tags are called where both are called the same way.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use feedsync_reader::{Folder, FolderName, MOST_FOLDERS, MOST_NAME, NameError, Tag};

/// What stands between the names of folders within each other.
const BETWEEN: &str = " / ";

/// The most bytes of a label.
pub const MOST_LABEL: usize = MOST_FOLDERS * (MOST_NAME + BETWEEN.len());

/// The name of a folder, or of a tag. Newsreaders know no folders within folders, so that the names of a path of
/// folders are shown as one, with `" / "` between them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(Arc<str>);

/// A text that is no label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a label has 1 to {MOST_LABEL} bytes, no control characters, and is not blank")]
pub struct LabelError;

impl Label {
    /// What a folder is shown as; the top is in no folder.
    pub fn of_folder(folder: &Folder) -> Option<Self> {
        let names: Vec<&str> = folder.names().iter().map(FolderName::as_str).collect();
        (!names.is_empty()).then(|| Self(names.join(BETWEEN).into()))
    }

    /// What a tag is shown as.
    pub fn of_tag(tag: &Tag) -> Self {
        Self(tag.as_str().into())
    }

    /// The folder that is made when somebody files into one that is called so and not there.
    pub fn folder(&self) -> Result<Folder, NameError> {
        Folder::new(self.0.split(BETWEEN).map(str::parse).collect::<Result<_, _>>()?)
    }

    /// The tag that is called so.
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
        let is_legal =
            text.len() <= MOST_LABEL && !text.trim().is_empty() && !text.chars().any(is_illegal);
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
