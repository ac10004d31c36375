//! The client and the user of the request that the current task handles, for limits.

use std::sync::{Arc, OnceLock};

use crate::http::clients::{Clients, Key, UsageGuard};
use crate::http::peer::Client;
use crate::http::problem::Problem;

tokio::task_local! {
    static CURRENT: Arc<CurrentRequest>;
}

/// The request that the running task handles.
pub(crate) struct CurrentRequest {
    pub(crate) client: Client,
    /// Whether it concerns a database and has credentials. Replicators make many concurrent requests, and a
    /// refused one loses the data that it carried (CL37).
    pub(crate) is_replicating: bool,
    person: OnceLock<(Arc<str>, Option<UsageGuard>)>,
    /// Slot under the client's address, for a request whose credentials turned out not to sign in.
    unsigned: OnceLock<UsageGuard>,
}

impl CurrentRequest {
    /// A request before its principal is known.
    pub(crate) fn new(client: Client, is_replicating: bool) -> Self {
        Self { client, is_replicating, person: OnceLock::new(), unsigned: OnceLock::new() }
    }

    /// Name of the user who signed in.
    pub(crate) fn person(&self) -> Option<&str> {
        self.person.get().map(|(name, _)| &**name)
    }

    /// Handles the request.
    pub(crate) async fn scope<T>(self: Arc<Self>, handled: impl Future<Output = T>) -> T {
        CURRENT.scope(self, handled).await
    }
}

/// Client whose limits the current request counts for; none for programs on this machine.
pub(crate) fn key() -> Option<Key> {
    let of = |current: &Arc<CurrentRequest>| match current.person.get() {
        _ if current.client.local || current.is_replicating => None,
        Some((name, _)) => Some(Key::Person(Arc::clone(name))),
        None => current.client.address.map(Key::address),
    };
    CURRENT.try_with(of).ok().flatten()
}

/// Client whose event streams the current request counts for: the signed-in user, from any address and for
/// any resource, else the address. None for a program on this machine.
pub(crate) fn stream_key() -> Option<Key> {
    let of = |current: &Arc<CurrentRequest>| match current.person.get() {
        Some((name, _)) => Some(Key::Person(Arc::clone(name))),
        None if current.client.is_here() => None,
        None => current.client.address.map(Key::address),
    };
    CURRENT.try_with(of).ok().flatten()
}

/// Counts a request that was not counted because it had credentials, but did not sign in.
pub(crate) fn not_signed_in(clients: &Clients) -> Result<(), Problem> {
    let Ok(current) = CURRENT.try_with(Arc::clone) else { return Ok(()) };
    if let Some(address) = current.client.address
        && current.is_replicating
        && !current.client.local
        && current.unsigned.get().is_none()
    {
        let underway = clients.admit(Key::address(address))?;
        // Only this task handles the request.
        let _ = current.unsigned.set(underway);
    }
    Ok(())
}

/// Records the user of this request; refused if that user makes too many requests.
pub(crate) fn signed_in(clients: &Clients, name: &str) -> Result<(), Problem> {
    let current = CURRENT.try_with(Arc::clone).ok();
    let Some(current) = current else { return Ok(()) };
    let name: Arc<str> = name.into();
    let underway = match current.client.local || current.is_replicating {
        true => None,
        false => Some(clients.admit(Key::Person(Arc::clone(&name)))?),
    };
    // The first user to be recorded is the principal; a second call has the same user.
    let _ = current.person.set((name, underway));
    Ok(())
}
