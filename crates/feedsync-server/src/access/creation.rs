//! Creation of collections for the principal of a request, within the quota of its user.

use feedsync_core::Format;
use feedsync_endpoint::{EndpointError, Settings};
use feedsync_store::{Collection, CollectionName, NewCollection, StoreError};

use crate::access::call::Call;
use crate::access::quotas;
use crate::http::problem::Problem;
use crate::hub::Hub;

/// Creates a collection; `None` if one of that name was created since.
pub(crate) async fn create(
    hub: &Hub,
    call: &Call,
    new: NewCollection,
) -> Result<Option<Collection>, Problem> {
    // Serializes counting and creating on this node.
    let _turn = hub.collections.lock().await;
    quotas::collections(hub, &call.principal).await?;
    let created = match call.endpoint(hub).create_collection(new).await {
        Err(EndpointError::Store(StoreError::CollectionExists(_))) => return Ok(None),
        created => created,
    };
    // The creator must be its owner at once.
    hub.access.forget();
    Ok(Some(created?))
}

/// Creates a collection with default settings, unless one of that name was created since.
pub(crate) async fn create_default(
    hub: &Hub,
    call: &Call,
    name: &CollectionName,
) -> Result<(), Problem> {
    let mut settings = Default::default();
    Settings::default().write(&mut settings);
    let title = name.to_string();
    let new = NewCollection { name: name.clone(), title, format: Format::Atom, settings };
    create(hub, call, new).await.map(drop)
}
