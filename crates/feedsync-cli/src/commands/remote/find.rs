//! Remotes by the names that a user gives them.

use feedsync_store::{CollectionName, Remote as Stored};

use crate::context::OpenEndpoint;
use crate::failure::{Failure, Missing};
use crate::invocation::see_all;

/// Finds the remote with this address, name or number.
pub(crate) async fn find(
    home: &OpenEndpoint,
    collection: &CollectionName,
    named: &str,
) -> Result<Option<Stored>, Failure> {
    home.endpoint.collection(collection).await?;
    let remotes = home.store.remotes(Some(collection)).await?;
    let is_named = |remote: &Stored| {
        remote.url == named
            || remote.name.as_deref() == Some(named)
            || remote.id.0.to_string() == named
    };
    Ok(remotes.into_iter().find(is_named))
}

/// Failure for a remote that a collection does not have.
pub(crate) fn no_remote(collection: &CollectionName, named: &str) -> Failure {
    missing_remote(format!("{collection} has no remote {named}"), collection, named)
}

/// Failure with this message about a remote that a user named.
pub(crate) fn missing_remote(message: String, collection: &CollectionName, named: &str) -> Failure {
    let missing = Missing::Remote { collection: collection.clone(), named: named.to_owned() };
    Failure::not_found(message).hint(see_all("remote list")).of_missing(missing)
}
