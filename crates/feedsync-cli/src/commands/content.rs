//! Options for the content of an item, shared by `add`, `edit` and `resolve`.

use clap::Args;
use feedsync_core::{Format, ItemId, Payload};
use feedsync_endpoint::{compose_dated, revise_dated};
use feedsync_formats::{ContentType, Revision, entry};
use feedsync_store::{Environment as _, SystemEnvironment};

use crate::failure::Failure;
use crate::source::{NetworkAccess, Source};

/// New content.
#[derive(Debug, Args)]
pub(crate) struct Content {
    /// New title, as plain text
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// New content, as plain text
    #[arg(long, value_name = "C")]
    content: Option<String>,
    /// Read the whole item from a file, or from standard input if it is '-': an Atom entry, an RSS item, an outline,
    /// a JSON object, another XML element, or a feed with one of them
    #[arg(long, value_name = "ENTRY", conflicts_with_all = ["title", "content"])]
    file: Option<String>,
}

impl Content {
    /// Whether the options give no content.
    pub(crate) fn is_empty(&self) -> bool {
        self.title.is_none() && self.content.is_none() && self.file.is_none()
    }

    /// Reads the payload from ENTRY, if the option is given.
    pub(crate) async fn entry(&self, way: &NetworkAccess) -> Result<Option<Payload>, Failure> {
        match &self.file {
            Some(file) => Source::load(file, way).await?.entry().map(Some),
            None => Ok(None),
        }
    }

    /// Creates the payload of a new item with this id from the title and content options.
    pub(crate) fn compose(self, id: &ItemId, format: Format) -> Payload {
        let now = SystemEnvironment.now().timestamp();
        compose_dated(format, id, self.title, self.content, now)
    }

    /// Replaces the title and content in a payload; everything else stays byte for byte.
    pub(crate) async fn revise(
        self,
        way: &NetworkAccess,
        payload: &Payload,
    ) -> Result<Payload, Failure> {
        if let Some(entry) = self.entry(way).await? {
            return Ok(entry);
        }
        let revision = Revision {
            title: self.title,
            content: self.content,
            content_type: ContentType::Text,
            updated: None,
        };
        revised(payload, &revision)
    }
}

/// Replaces the content of a payload by another text of the same content type.
pub(crate) fn with_text(payload: &Payload, content: String) -> Result<Payload, Failure> {
    let content_type = entry(payload).content_type;
    revised(payload, &Revision { title: None, content: Some(content), content_type, updated: None })
}

fn revised(payload: &Payload, revision: &Revision) -> Result<Payload, Failure> {
    Ok(revise_dated(payload, revision, SystemEnvironment.now().timestamp())?)
}
