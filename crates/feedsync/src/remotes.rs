//! The remotes of a collection: the addresses that it was synchronized with.

use feedsync_client::SyncError;
use feedsync_core::Timestamp;
use feedsync_fetch::{FetchError, Url, address, shown_text, without_credentials};
use feedsync_store::{NewRemote, Remote as StoredRemote, RemoteId, StoreError};

use crate::collection::Collection;
use crate::error::Error;
use crate::sync::remote_address;

/// An address that a collection is synchronized with, and the results of the last synchronizations.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remote {
    /// The address, as [`Collection::sync`] takes it. It has no user name and no password.
    pub url: String,
    /// Time of the last success; `None` for an address that nobody has reached yet.
    pub succeeded: Option<Timestamp>,
    /// The last failure, unless a success came after it.
    pub failure: Option<String>,
    /// Whether it accepts no changes from here: it is a feed without a hub, or the hub refused the last push.
    pub read_only: bool,
}

impl<T> Collection<T> {
    /// The remotes of the collection, in the order in which they were first used: the addresses that have answered as a
    /// feed, and those that it [follows](Self::follow).
    ///
    /// An address whose first [`sync`](Self::sync) fails becomes a remote only if the failure says nothing of the address:
    /// the network or the server is away, the server is overloaded or has failed, or it requires a login. So a first sync
    /// without a network is not forgotten. A device cannot tell an unknown host from a network that is away; an
    /// application shows remotes that never [succeeded](Remote::succeeded), and offers to
    /// [remove](Self::remove_remote) them. An address that answers otherwise (nothing there, a web page, no feed) is not
    /// stored.
    pub async fn remotes(&self) -> Result<Vec<Remote>, Error> {
        let known = self.endpoint().remotes(Some(self.stored_name())).await?;
        let shown = known.into_iter().map(|StoredRemote { url, state, .. }| Remote {
            url: without_credentials(&url),
            succeeded: state.succeeded.and_then(|succeeded| succeeded.timestamp()),
            failure: state.failure,
            read_only: state.read_only,
        });
        Ok(shown.collect())
    }

    /// Forgets a remote. Items stay, here and there. A later [`sync`](Self::sync) with the address begins anew: it reads
    /// and offers all items, and those that both sides have change nothing.
    ///
    /// # Errors
    ///
    /// [`Error::NoRemote`] if the collection has none of this address, [`Error::Address`].
    pub async fn remove_remote(&self, url: &str) -> Result<(), Error> {
        let endpoint = self.endpoint();
        let parsed = remote_address(url)?;
        let known = endpoint.remotes(Some(self.stored_name())).await?;
        match found(known, &parsed) {
            Some(found) => Ok(endpoint.remove_remote(found.id).await?),
            None => {
                let (collection, url) = (self.name().to_owned(), shown_text(url));
                Err(Error::NoRemote { collection, url })
            }
        }
    }

    /// Removes a remote after a failure that shows that its address is not that of a feed, unless it was one before.
    pub(crate) async fn forget_no_feed(
        &self,
        id: RemoteId,
        failure: &SyncError,
    ) -> Result<(), Error> {
        if !shows_no_feed(failure) {
            return Ok(());
        }
        let known = self.endpoint().remotes(Some(self.stored_name())).await?;
        let remote = known.into_iter().find(|known| known.id == id);
        match remote.filter(|remote| !has_answered(remote)) {
            Some(remote) => Ok(self.endpoint().remove_remote(remote.id).await?),
            None => Ok(()),
        }
    }

    /// Returns the remote of an address, and adds it if there is none. If the stored address has another spelling, it is
    /// replaced by this one.
    pub(crate) async fn remote_at(&self, url: &Url) -> Result<StoredRemote, Error> {
        let (endpoint, collection) = (self.endpoint(), self.stored_name());
        loop {
            let known = endpoint.remotes(Some(collection)).await?;
            let stored = match found(known, url) {
                Some(found) if found.url == url.as_str() => return Ok(found),
                Some(found) => {
                    let renamed = StoredRemote { url: url.to_string(), ..found };
                    endpoint.change_remote(renamed.clone()).await.map(|()| renamed)
                }
                None => {
                    let (collection, url) = (collection.clone(), url.to_string());
                    let new = NewRemote { collection, name: None, url, subscription: None };
                    endpoint.add_remote(new).await
                }
            };
            match stored {
                // Another call was faster.
                Err(StoreError::RemoteExists(_) | StoreError::NoRemote) => {}
                stored => return Ok(stored?),
            }
        }
    }
}

/// Whether a remote was a feed once.
fn has_answered(remote: &StoredRemote) -> bool {
    let state = &remote.state;
    state.succeeded.is_some() || state.changes.is_some() || state.until.is_some()
}

/// Whether a failure shows that an address is not that of a feed, rather than that the network, the server or this
/// device is not ready.
fn shows_no_feed(failure: &SyncError) -> bool {
    match failure {
        SyncError::Fetch(error) => match error {
            FetchError::Status { status, .. } => {
                !error.is_temporary() && !matches!(status.as_u16(), 401 | 403 | 407)
            }
            FetchError::Client(_) => false,
            error => !error.is_temporary(),
        },
        SyncError::Document { .. } | SyncError::NotFeedSync { .. } | SyncError::Protocol { .. } => {
            true
        }
        _ => false,
    }
}

/// The remote with this spelling of an address, or else with another one.
fn found(known: Vec<StoredRemote>, url: &Url) -> Option<StoredRemote> {
    let same = |remote: &&StoredRemote| remote.url == url.as_str();
    let alike = |remote: &&StoredRemote| {
        address(&remote.url).is_ok_and(|known| plain(&known) == plain(url))
    };
    known.iter().find(same).or_else(|| known.iter().find(alike)).cloned()
}

/// An address without credentials, and without a slash at the end of its path. Its parser has already written the host in
/// lower case, and left out the default port.
fn plain(url: &Url) -> Url {
    let mut url = url.clone();
    // Both fail only for addresses that have no host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    url
}
