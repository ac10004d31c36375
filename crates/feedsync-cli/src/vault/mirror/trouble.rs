//! Reasons for which a note or a file is left out of a mirror.

use std::fmt;

use super::path::PathTrouble;

/// Maximum size of a file that is mirrored, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 100 << 20;

/// Maximum number of chunks of a note that is mirrored.
pub(super) const MAX_CHUNKS: usize = 100_000;

/// A reason for which a note or a file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The path cannot be that of a file, or that of a note.
    Path(PathTrouble),
    /// The id of the note is not that of its path.
    OtherId,
    /// Paths that differ only in case are the same for devices, and on some systems.
    SameName,
    /// The note has more chunks than are read.
    TooManyChunks,
    /// The file or the note is larger than what is mirrored.
    TooLarge,
    /// The database lacks a chunk of the note.
    MissingChunk(String),
    /// A chunk is not a document with text, or the note does not have the members of a note.
    Damaged,
    /// Half of a surrogate pair in a text cannot be written to a file.
    HalfCharacter,
    /// The content of a binary note is not Base64.
    NotBase64,
    /// The chunks are compressed.
    Compressed,
    /// The content has an encoding of early versions of the plugin.
    OldEncoding,
    /// Devices read files with this ending as UTF-8, and the file is something else.
    NotUtf8,
    /// A directory, a symbolic link or something else is where the file should be.
    Obstructed,
    /// The file or the note changes at this moment; the next pass decides.
    Busy,
    /// The store refused the note.
    Refused(String),
    /// The system refused to read or write the file.
    File(String),
}

impl Trouble {
    /// Whether nobody needs to know: hidden files of the plugin and of Obsidian are not mirrored.
    pub(super) fn is_expected(&self) -> bool {
        *self == Self::Path(PathTrouble::Hidden)
    }
}

impl From<PathTrouble> for Trouble {
    fn from(trouble: PathTrouble) -> Self {
        Self::Path(trouble)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            // Somebody deleted or renamed it since the directory was listed.
            std::io::ErrorKind::NotFound => Self::Busy,
            _ => Self::File(error.to_string()),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Path(trouble) => return trouble.fmt(f),
            Self::OtherId => "the id of the note is not that of its path",
            Self::SameName => "another path differs only in case",
            Self::TooManyChunks => "the note has too many chunks",
            Self::TooLarge => "it is larger than 100 MiB",
            Self::MissingChunk(id) => return write!(f, "the database lacks its chunk {id}"),
            Self::Damaged => "it does not have the form of a note",
            Self::HalfCharacter => "its text has half of a character",
            Self::NotBase64 => "its content is not Base64",
            Self::Compressed => "its content is compressed",
            Self::OldEncoding => "its content has an encoding of early versions of the plugin",
            Self::NotUtf8 => "devices read files of this name as UTF-8, and it is not",
            Self::Obstructed => "a directory or a symbolic link is in its way",
            Self::Busy => "it is being changed",
            Self::Refused(reason) => return write!(f, "the store refused it: {reason}"),
            Self::File(error) => return f.write_str(error),
        })
    }
}
