//! Rows of errors.

use feedsync_bitsy::event::{ErrorId, Interaction, SyncError};
use feedsync_bitsy::interceptor::Content;
use serde_json::{Value, json};

use super::fields::{Damaged, Fields, content_value, header_list, partition_text};

pub(crate) fn error_value(error: &SyncError<Option<Content>>) -> Value {
    let interaction = &error.interaction;
    json!({
        "id": error.id.0,
        "partition": partition_text(error.partition),
        "feed": error.feed.as_str(),
        "status": interaction.status.as_u16(),
        "time": interaction.time.millis(),
        "location": interaction.location.as_str(),
        "method": interaction.method,
        "requestHeaders": header_list(&interaction.request_headers),
        "requestBody": interaction.request_body.as_ref().map(content_value),
        "responseHeaders": header_list(&interaction.response_headers),
        "responseBody": interaction.response_body.as_ref().map(content_value),
        "previous": error.previous.as_ref().map(content_value),
    })
}

pub(crate) fn error(value: &Value) -> Result<SyncError<Option<Content>>, Damaged> {
    let of = Fields(value);
    Ok(SyncError {
        id: ErrorId(of.number("id")?),
        partition: of.partition("partition")?,
        feed: of.location("feed")?,
        interaction: Interaction {
            status: of.status("status")?,
            time: of.time("time")?,
            location: of.location("location")?,
            method: of.text("method")?.to_owned(),
            request_headers: of.headers("requestHeaders")?,
            request_body: of.optional_content("requestBody")?,
            response_headers: of.headers("responseHeaders")?,
            response_body: of.optional_content("responseBody")?,
        },
        previous: of.optional_content("previous")?,
    })
}
