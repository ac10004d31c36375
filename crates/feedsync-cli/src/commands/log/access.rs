//! The log that a command names.

use std::path::PathBuf;
use std::sync::Arc;

use feedsync_client::fetch::address;
use feedsync_client::{FileLog, LogAccess, RemoteLog, StoredLog};
use feedsync_store::{CollectionName, Environment as _, SystemEnvironment};

use crate::context::Context;
use crate::failure::Failure;

/// The most bytes that a log of this endpoint may have when a command appends to it; the hub has a limit of its
/// own.
const MOST: u64 = 1 << 40;

/// The log of an address, of a collection here, or in a file.
pub(crate) async fn access(context: &Context, named: &str) -> Result<Box<dyn LogAccess>, Failure> {
    if named.starts_with("http://") || named.starts_with("https://") {
        return Ok(Box::new(RemoteLog::new(context.way().fetcher()?, address(named)?)));
    }
    if named.contains(['/', '.', '\\']) {
        return Ok(Box::new(FileLog::new(PathBuf::from(named))));
    }
    let name = CollectionName::new(named).map_err(|error| {
        Failure::usage(error).hint("a log is an http or https address, a collection, or a file")
    })?;
    let home = context.open().await?;
    home.endpoint.collection(&name).await?;
    Ok(Box::new(StoredLog::new(Arc::clone(home.endpoint.store()), name, MOST)))
}

/// A random number.
pub(crate) fn random() -> u64 {
    SystemEnvironment.random()
}
