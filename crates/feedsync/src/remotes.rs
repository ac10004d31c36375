//! The remotes of a collection: the addresses that it was synchronized with.

use feedsync_core::Timestamp;
use feedsync_fetch::{Url, address, shown_text};
use feedsync_store::{NewRemote, Remote as StoredRemote, StoreError};

use crate::collection::Collection;
use crate::error::Error;
use crate::sync::fetch_error;

/// An address that a collection was synchronized with, and the results of the last synchronizations.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remote {
    /// The address, as [`Collection::sync`] takes it. It may have credentials.
    pub url: String,
    /// Time of the last success.
    pub succeeded: Option<Timestamp>,
    /// The last failure, unless a success came after it.
    pub failure: Option<String>,
    /// Whether it accepts no changes from here: it is a feed without a hub, or the hub refused the last push.
    pub read_only: bool,
}

impl<T> Collection<T> {
    /// The remotes of the collection: every address that it was synchronized with or that it followed, in the order in
    /// which they were first used.
    pub async fn remotes(&self) -> Result<Vec<Remote>, Error> {
        let known = self.endpoint().remotes(Some(self.stored_name())).await?;
        let shown = known.into_iter().map(|StoredRemote { url, state, .. }| Remote {
            url,
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
        let parsed = address(url).map_err(fetch_error)?;
        let known = endpoint.remotes(Some(self.stored_name())).await?;
        match found(known, &parsed) {
            Some(found) => Ok(endpoint.remove_remote(found.id).await?),
            None => {
                let (collection, url) = (self.name().to_owned(), shown_text(url));
                Err(Error::NoRemote { collection, url })
            }
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

/// The remote with this spelling of an address, or else with another one.
fn found(known: Vec<StoredRemote>, url: &Url) -> Option<StoredRemote> {
    let same = |remote: &&StoredRemote| remote.url == url.as_str();
    let alike = |remote: &&StoredRemote| {
        address(&remote.url).is_ok_and(|known| without_slash(&known) == without_slash(url))
    };
    known.iter().find(same).or_else(|| known.iter().find(alike)).cloned()
}

/// An address without a slash at the end of its path. Its parser has already written the host in lower case, and left out
/// the default port.
fn without_slash(url: &Url) -> Url {
    let mut url = url.clone();
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    url
}
