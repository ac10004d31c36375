//! Options for the position of an outline, shared by `edit` and `file edit`.

use clap::Args;

/// The new position of an outline. At most one of the options is given.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Destination {
    /// Move the outline to the end of the outline with this id, or the beginning of one
    #[arg(long, value_name = "OUTLINE", conflicts_with_all = ["title", "content", "file"])]
    pub(crate) under: Option<String>,
    /// Move the outline to the top level
    #[arg(long, conflicts_with_all = ["title", "content", "file"])]
    pub(crate) top: bool,
}

impl Destination {
    /// Whether an option moves the outline.
    pub(crate) fn is_given(&self) -> bool {
        self.top || self.under.is_some()
    }
}
