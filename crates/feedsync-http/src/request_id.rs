//! Id of the request that the current task handles.

use std::sync::Arc;

tokio::task_local! {
    static CURRENT: Arc<str>;
}

/// Id of the current request.
pub fn current() -> Option<Arc<str>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Runs a future as part of the request with this id.
pub async fn scope<T>(id: Arc<str>, handled: impl Future<Output = T>) -> T {
    CURRENT.scope(id, handled).await
}
