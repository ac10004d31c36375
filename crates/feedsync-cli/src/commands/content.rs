//! What an item is to say, as `add`, `edit` and `resolve` are told it.

use clap::Args;
use feedsync::{Format, ItemId, Payload};
use feedsync_endpoint::Endpoint;
use feedsync_formats::{ContentType, Revision, entry};

use crate::failure::Failure;
use crate::source::{Source, Way};

/// New content.
#[derive(Debug, Args)]
pub(crate) struct Content {
    /// Title it T, plain text
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// Let it say C, plain text
    #[arg(long, value_name = "C")]
    content: Option<String>,
    /// Take all of it from the file ENTRY, or '-' for standard input: an Atom entry, an RSS item, an
    /// outline, a JSON object, another XML element, or a feed with just one of them
    #[arg(long, value_name = "ENTRY", conflicts_with_all = ["title", "content"])]
    file: Option<String>,
}

impl Content {
    /// Whether nothing was said.
    pub(crate) fn is_empty(&self) -> bool {
        self.title.is_none() && self.content.is_none() && self.file.is_none()
    }

    /// The payload of a new item of this id.
    pub(crate) async fn compose(
        self,
        way: &Way,
        endpoint: &Endpoint,
        id: &ItemId,
        format: Format,
    ) -> Result<Payload, Failure> {
        if let Some(file) = &self.file {
            return Source::load(file, way).await?.entry();
        }
        Ok(endpoint.compose(format, id, self.title, self.content))
    }

    /// The payload with the new content in place of the old; all else stays byte for byte.
    pub(crate) async fn revise(
        self,
        way: &Way,
        endpoint: &Endpoint,
        payload: &Payload,
    ) -> Result<Payload, Failure> {
        if let Some(file) = &self.file {
            return Source::load(file, way).await?.entry();
        }
        let revision = Revision {
            title: self.title,
            content: self.content,
            content_type: ContentType::Text,
            updated: None,
        };
        Ok(endpoint.revise(payload, &revision)?)
    }
}

/// The payload with another text as its content, of the type it has.
pub(crate) fn with_text(
    endpoint: &Endpoint,
    payload: &Payload,
    content: String,
) -> Result<Payload, Failure> {
    let content_type = entry(payload).content_type;
    let revision = Revision { title: None, content: Some(content), content_type, updated: None };
    Ok(endpoint.revise(payload, &revision)?)
}
