//! JSON views: those of `feedsync_bitsy::view`, with the bytes that belong to them and the number of the snapshot.

use feedsync_bitsy::event::Interaction;
use feedsync_bitsy::interceptor::{self, Content, Representation, StoredSubscription};
use feedsync_bitsy::view::Audience as _;
use serde_json::{Value, json};

pub(crate) use feedsync_bitsy::view::{
    Stamp, edit, error, interaction, is_edit, method, paused, state_changes, why, with_bytes,
};

use super::caller::Visibility;
use super::current::Current;
use super::interceptor_handle::{InterceptorHandle, StoreFailed};

/// Maximum size of an entity that is included in an event or an error, in bytes; larger ones are requested
/// separately.
pub(crate) const MAX_INLINE_BYTES: u64 = 1 << 20;

/// View of a subscription. Secrets are shown to a caller
/// that has sent them, and not to an operator of the gateway.
pub(crate) fn subscription(
    state: &interceptor::State,
    visibility: &Visibility<'_>,
    stored_subscription: &StoredSubscription,
) -> Value {
    feedsync_bitsy::view::subscription(
        state,
        stored_subscription,
        visibility.shows(stored_subscription),
    )
}

/// Adds the entities of an interaction to its view: as text if they are UTF-8, otherwise in Base64. Entities
/// longer than [`MAX_INLINE_BYTES`] are omitted.
pub(crate) async fn with_entities(
    interceptor_handle: &dyn InterceptorHandle,
    of: &Interaction<Option<Content>>,
    mut view: Value,
) -> Result<Value, StoreFailed> {
    for (name, content) in [("request", of.request_body), ("response", of.response_body)] {
        let Some(content) = content else { continue };
        view[name] = entity(interceptor_handle, content).await?;
    }
    Ok(view)
}

/// View of the current version at a server, with its bytes.
pub(crate) async fn current(
    interceptor_handle: &dyn InterceptorHandle,
    current: &Current,
) -> Result<Value, StoreFailed> {
    let Representation { status, content, fetched, .. } = &current.representation;
    let mut view = entity(interceptor_handle, *content).await?;
    view["status"] = json!(status.as_u16());
    view["fetched"] = json!(fetched.millis());
    view["isNew"] = json!(current.is_new);
    Ok(view)
}

async fn entity(
    interceptor_handle: &dyn InterceptorHandle,
    content: Content,
) -> Result<Value, StoreFailed> {
    let view = json!({ "length": content.length });
    Ok(match content.length {
        0..=MAX_INLINE_BYTES => with_bytes(view, interceptor_handle.content(content).await?),
        _ => view,
    })
}
