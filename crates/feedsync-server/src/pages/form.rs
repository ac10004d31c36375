//! Submitted forms: `application/x-www-form-urlencoded`, parsed strictly.

use axum::body::Body;
use feedsync_core::ItemId;
use feedsync_store::{Collection, CollectionName};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::access::audience::Audience;
use crate::access::call::Call;
use crate::http::body;
use crate::http::media_types::essence;
use crate::http::paths::collection_page;
use crate::http::problem::Problem;
use crate::http::query::{Query, encoded};
use crate::hub::Hub;
use crate::pages::form_token;

const KIND: &str = "application/x-www-form-urlencoded";

/// The fields of a form.
pub(super) struct Form(Query);

/// A submitted form, and whether it was issued to this browser.
pub(super) enum Posted {
    Genuine(Form),
    /// It was not issued to this browser, and may only be shown again.
    Foreign(Form),
}

impl Posted {
    /// Reads a form that one of the hub's pages submitted.
    pub(super) async fn read(hub: &Hub, call: &Call, body: Body) -> Result<Self, Problem> {
        let form = Form::parse(hub, &call.headers, body).await?;
        call.recheck_if_slow(hub).await?;
        let genuine = form_token::is_genuine(hub, call, form.text("form"));
        Ok(if genuine { Self::Genuine(form) } else { Self::Foreign(form) })
    }
}

impl Form {
    /// Reads a form whose input need not be shown again if it is refused.
    pub(super) async fn read(hub: &Hub, call: &Call, body: Body) -> Result<Self, Problem> {
        match Posted::read(hub, call, body).await? {
            Posted::Genuine(form) => Ok(form),
            Posted::Foreign(_) => Err(form_token::refused()),
        }
    }

    async fn parse(hub: &Hub, headers: &HeaderMap, body: Body) -> Result<Self, Problem> {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !essence(kind.unwrap_or_default()).eq_ignore_ascii_case(KIND) {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported-media-type",
                "Unsupported media type",
                "this address accepts only the form of its own page",
            )
            .header(header::ACCEPT, HeaderValue::from_static(KIND)));
        }
        let _permit = body::acquire_permit(hub, &hub.uploads).await?;
        let bytes = body::read(hub, headers, body, hub.config.limits.body_bytes).await?;
        let text =
            String::from_utf8(bytes).map_err(|_| Problem::bad_request("the form is not UTF-8"))?;
        Ok(Self(Query::form(&text)?))
    }

    /// Whether the form has a field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.text(name).is_some()
    }

    /// Value of a field; empty if it is absent.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.text(name).unwrap_or_default()
    }

    /// Value of a field with several lines, whose line ends browsers send as CR LF.
    pub(super) fn lines(&self, name: &str) -> String {
        typed(self.text(name))
    }
}

/// A text as a browser returns it unchanged.
pub(super) fn typed(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}")
}

/// Address of a collection's events; empty for users who may not follow it.
pub(super) fn events(root: &str, call: &Call, collection: &Collection) -> Result<String, Problem> {
    let follows = Audience::of(&call.principal, collection)? == Audience::All;
    let address = || format!("{root}/collections/{}/events", collection.name);
    Ok(if follows { address() } else { String::new() })
}

/// Address of an item's page.
pub(super) fn item_page(root: &str, collection: &CollectionName, id: &ItemId) -> String {
    format!("{}/items/{}", collection_page(root, collection), encoded(id.as_str()))
}
