//! Settings of a collection, which decide who may read it.

use feedsync_endpoint::{EndpointError, Settings};
use feedsync_store::Collection;

use crate::http::problem::Problem;

/// Settings of a collection.
pub(crate) fn settings(collection: &Collection) -> Result<Settings, Problem> {
    Ok(Settings::read(&collection.settings).map_err(EndpointError::from)?)
}
