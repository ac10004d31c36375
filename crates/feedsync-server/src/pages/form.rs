//! Forms that a page posted: `application/x-www-form-urlencoded`, read strictly.

use axum::body::Body;
use feedsync::ItemId;
use feedsync_store::CollectionName;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::body;
use crate::hub::Hub;
use crate::problem::Problem;
use crate::query::{Query, encoded};

const KIND: &str = "application/x-www-form-urlencoded";

/// The fields of a form.
pub(super) struct Form(Query);

impl Form {
    /// Reads a form that a page of ours posted.
    pub(super) async fn read(hub: &Hub, headers: &HeaderMap, body: Body) -> Result<Self, Problem> {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let essence = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case(KIND) {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported-media-type",
                "Not a form",
                "this address takes the forms of its own page",
            )
            .header(header::ACCEPT, HeaderValue::from_static(KIND)));
        }
        let _turn = body::turn(hub, &hub.uploads).await?;
        let bytes = body::read(hub, headers, body, hub.config.limits.body_bytes).await?;
        let text = String::from_utf8(bytes).map_err(|_| Problem::bad_request("not a form"))?;
        Ok(Self(Query::form(&text)?))
    }

    /// Whether the form has a field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.text(name).is_some()
    }

    /// A field as it was typed; empty if it is not there.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.text(name).unwrap_or_default()
    }

    /// A field of several lines, whose ends browsers send as CR LF.
    pub(super) fn lines(&self, name: &str) -> String {
        typed(self.text(name))
    }
}

/// A text as it comes back from a browser in which nobody touched it.
pub(super) fn typed(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}")
}

/// The address of a collection's page.
pub(super) fn collection_page(root: &str, collection: &CollectionName) -> String {
    format!("{root}/pages/collections/{collection}")
}

/// The address of an item's page.
pub(super) fn item_page(root: &str, collection: &CollectionName, id: &ItemId) -> String {
    format!("{}/items/{}", collection_page(root, collection), encoded(id.as_str()))
}
