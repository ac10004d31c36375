//! Synchronization with a hub, or with a feed on any web server.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use feedsync_client::{
    Direction, NoProgress, Pace, Session, Side, SyncError, SyncReport as ClientReport, Watch,
};
use feedsync_fetch::{
    FetchError, Fetcher, Login as ClientLogin, LoginError, LoginOrigin, Logins, Policy, Private,
    Url, address, shown_text,
};
use feedsync_store::{Remote, StoreError};
use http::StatusCode;
use tokio::sync::watch;

use crate::collection::Collection;
use crate::error::Error;
use crate::replica::Replica;
use crate::report::{RefusedItem, SyncReport};

/// Credentials of a user at a hub: a token (`feedsync user token create --user NAME`), or a user name and a password. No
/// message shows them, and no store holds them: sign in again after each start. An address has neither a user name nor a
/// password, since addresses are stored and shown.
///
/// ```
/// # fn example(replica: feedsync::Replica) -> Result<(), Box<dyn std::error::Error>> {
/// use feedsync::Login;
///
/// let login = Login::token(std::env::var("TODO_TOKEN")?)?; // or Login::password("anna", …)?
/// replica.sign_in("https://hub.example/collections/todo", login)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Login(ClientLogin);

impl Login {
    /// A token, as a hub issues them for applications.
    ///
    /// # Errors
    ///
    /// [`LoginError`] for a text that no header can hold.
    pub fn token(text: impl Into<String>) -> Result<Self, LoginError> {
        ClientLogin::token(text).map(Self)
    }

    /// A user's name and password.
    ///
    /// # Errors
    ///
    /// [`LoginError`] for a name with a colon, or a text that no header can hold.
    pub fn password(
        user: impl Into<String>,
        password: impl Into<String>,
    ) -> Result<Self, LoginError> {
        ClientLogin::password(user, password).map(Self)
    }
}

/// Connections of a replica, made when they are first used.
#[derive(Default)]
pub(crate) struct Connections {
    state: Mutex<State>,
    /// Notifies those who follow a remote of a new login.
    signed_in: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    logins: Logins,
    fetcher: Option<Fetcher>,
}

impl Connections {
    pub(crate) fn fetcher(&self) -> Result<Fetcher, FetchError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fetcher) = &state.fetcher {
            return Ok(fetcher.clone());
        }
        let fetcher = Fetcher::new(Policy::new(Private::Allowed))?;
        let fetcher = fetcher.with_logins(state.logins.clone())?;
        Ok(state.fetcher.insert(fetcher).clone())
    }

    fn sign_in(&self, origin: LoginOrigin, login: ClientLogin) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.logins.keep(origin, login);
        state.fetcher = None;
        drop(state);
        self.signed_in.send_replace(());
    }
}

impl Replica {
    /// Uses a login for the server of an address, as long as this replica is open. It is sent over `https`, or to this
    /// machine, and never to another server. Whatever is [followed](Collection::follow) begins again at once, with the
    /// login.
    ///
    /// # Errors
    ///
    /// [`Error::Address`] for an address that is not of `https` or of this machine, or that has a user name or a password
    /// itself.
    pub fn sign_in(&self, url: &str, login: Login) -> Result<(), Error> {
        let origin = LoginOrigin::of(&remote_address(url)?).map_err(fetch_error)?;
        self.connections.sign_in(origin, login.0);
        Ok(())
    }
}

impl<T> Collection<T> {
    /// Brings the collection in step with a remote: first it receives, then it sends.
    ///
    /// `url` is the address of a collection of a hub, such as `https://hub.example/collections/todo`, or of a FeedSync
    /// feed on any web server, which is only read. The replica stores how far it is with each address, so that the next
    /// call moves what has changed. [`remotes`](Self::remotes) lists these addresses, and says which ones are stored.
    ///
    /// The future may be dropped at any moment: what has arrived stays. A remote that refuses changes from here is still
    /// read; each result has a [warning](SyncReport::warnings) then. The changes are offered again as soon as there are
    /// new ones, and after an hour.
    ///
    /// # Errors
    ///
    /// [`Error::Offline`] if the network or the server is away. [`Error::Untrusted`] and [`Error::Page`] if something in
    /// between may have answered in its place. [`Error::NotFound`] if there is no such collection. [`Error::Busy`],
    /// [`Error::Denied`] and [`Error::Remote`] by the server's response, [`Error::Address`] for an invalid address or one
    /// with a user name or a password (use a [`Login`]), and [`Error::Store`]. No edit is lost by any of them.
    pub async fn sync(&self, url: &str) -> Result<SyncReport, Error> {
        let (session, remote) = self.session(url).await?;
        let synchronized = session.sync(&remote, Direction::BOTH, &NoProgress, false).await;
        if let Err(failure) = &synchronized {
            self.forget_no_feed(remote.id, failure).await?;
        }
        synchronized.map(SyncReport::from).map_err(sync_error)
    }

    /// Keeps the collection in step with a remote: [`Following::next`] synchronizes when either side has changes.
    ///
    /// The address is stored as a [remote](Self::remotes) at once, since a program may follow a collection before somebody
    /// creates it, and the pauses after failures are stored with it. [`remove_remote`](Self::remove_remote) removes it.
    /// Nothing is requested before the first call of [`Following::next`].
    ///
    /// # Errors
    ///
    /// [`Error::Address`] for an invalid address or one with a user name or a password, [`Error::Store`].
    pub async fn follow(&self, url: &str) -> Result<Following, Error> {
        let connections = Arc::clone(&self.replica().connections);
        let signed_in = connections.signed_in.subscribe();
        let (session, remote) = self.session(url).await?;
        let running = running(watch_of(&session, &remote), &session, &remote);
        Ok(Following { session, remote, connections, signed_in, running })
    }

    pub(crate) async fn session(&self, url: &str) -> Result<(Session, Remote), Error> {
        let url = remote_address(url)?;
        let fetcher = self.replica().connections.fetcher().map_err(fetch_error)?;
        let session = Session::new(self.endpoint().clone(), fetcher);
        Ok((session, self.remote_at(&url).await?))
    }
}

/// A collection that is kept in step with a remote.
pub struct Following {
    session: Session,
    remote: Remote,
    connections: Arc<Connections>,
    signed_in: watch::Receiver<()>,
    /// The next wait and synchronization. It starts when it is first polled, and outlives the future of a call.
    running: Running,
}

type Running = Pin<Box<dyn Future<Output = (Watch, Result<SyncReport, Error>)> + Send>>;

impl Following {
    /// Waits until either side has changes, and synchronizes. The first call does so at once, unless the remote has
    /// asked for a pause.
    ///
    /// After a failure the next call waits first: 2 seconds, then twice as long each time, up to an hour, or as long as
    /// the remote demands. Failures of earlier runs count: after some of them, a second one makes the next wait long. A
    /// hub reports its changes at once; other remotes are read every 30 seconds.
    ///
    /// It is safe to cancel: the future may be dropped at any moment and however often, as in `tokio::select!`. The next
    /// call continues the same wait, or the same synchronization. A synchronization makes no progress while nobody
    /// waits for it, and its timeouts go on.
    ///
    /// ```no_run
    /// # async fn example(todo: feedsync::Collection) -> Result<(), feedsync::Error> {
    /// let mut following = todo.follow("https://hub.example/collections/todo").await?;
    /// loop {
    ///     match following.next().await {
    ///         Ok(report) => println!("{} received, {} sent", report.received, report.sent),
    ///         Err(error) if error.is_temporary() => println!("{error}; the edits stay here until later"),
    ///         Err(error) => return Err(error),
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Collection::sync`]. No error ends the following: `next` may be called again after each of them, and
    /// waits first. Whether that is of use depends on the error:
    ///
    /// - [Temporary](Error::is_temporary) ones pass by themselves.
    /// - [`Error::Denied`] passes when the application [signs in](Replica::sign_in): a call that waits begins again at
    ///   once. [`Error::NotFound`] passes when somebody creates the collection there, and [`Error::Untrusted`],
    ///   [`Error::Page`] and [`Error::Remote`] when somebody mends the network or the server.
    /// - [`Error::NoRemote`] and [`Error::NoCollection`] stay: the remote or the collection was removed here. These, and
    ///   [`Error::Store`], are returned at once, without a pause, so a program that calls `next` in a loop must end at
    ///   them.
    pub async fn next(&mut self) -> Result<SyncReport, Error> {
        loop {
            if self.signed_in.has_changed().unwrap_or(false) {
                self.begin_again()?;
            }
            tokio::select! {
                (watch, done) = &mut self.running => {
                    self.running = running(watch, &self.session, &self.remote);
                    return done;
                }
                Ok(()) = self.signed_in.changed() => self.begin_again()?,
            }
        }
    }

    /// Takes the logins of the replica, and a new watch, which begins at once.
    fn begin_again(&mut self) -> Result<(), Error> {
        self.signed_in.mark_unchanged();
        let fetcher = self.connections.fetcher().map_err(fetch_error)?;
        self.session = Session::new(self.session.endpoint().clone(), fetcher);
        let watch = watch_of(&self.session, &self.remote);
        self.running = running(watch, &self.session, &self.remote);
        Ok(())
    }
}

fn watch_of(session: &Session, remote: &Remote) -> Watch {
    Watch::new(session.clone(), remote.clone(), Direction::BOTH, Pace::default())
}

/// Waits until a synchronization is due, and runs it.
fn running(mut watch: Watch, session: &Session, remote: &Remote) -> Running {
    let (session, remote) = (session.clone(), remote.clone());
    Box::pin(async move {
        let done = due_synchronization(&mut watch, &session, &remote).await;
        (watch, done)
    })
}

async fn due_synchronization(
    watch: &mut Watch,
    session: &Session,
    remote: &Remote,
) -> Result<SyncReport, Error> {
    match watch.next().await.map_err(sync_error)? {
        Some(_) => synchronize(session, remote).await,
        None => Err(StoreError::Unknown("the store was closed".to_owned()).into()),
    }
}

impl std::fmt::Debug for Following {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Following").field(&shown_text(&self.remote.url)).finish()
    }
}

async fn synchronize(session: &Session, remote: &Remote) -> Result<SyncReport, Error> {
    let report = session.sync(remote, Direction::BOTH, &NoProgress, false).await;
    report.map(SyncReport::from).map_err(sync_error)
}

impl From<ClientReport> for SyncReport {
    fn from(report: ClientReport) -> Self {
        let refused = report.refused.into_iter().map(|refused| RefusedItem {
            id: refused.id,
            by_remote: refused.by == Side::There,
            reason: refused.reason,
        });
        Self {
            received: report.pulled.changed(),
            sent: report.pushed.changed(),
            conflicts: report.conflicted,
            discarded: report.discarded,
            refused: refused.collect(),
            warnings: report.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

fn sync_error(error: SyncError) -> Error {
    match error {
        SyncError::Fetch(error) => fetch_error(error),
        SyncError::Endpoint(error) => error.into(),
        SyncError::Forgotten { collection, url } => {
            Error::NoRemote { collection: collection.to_string(), url }
        }
        SyncError::DiskFull { .. } => StoreError::Full.into(),
        error @ SyncError::NotYet { .. } => Error::Busy(Box::new(error)),
        error => Error::Remote(Box::new(error)),
    }
}

/// Parses an address of a remote. It is stored and shown, so it must not have credentials.
pub(crate) fn remote_address(text: &str) -> Result<Url, Error> {
    let url = address(text).map_err(fetch_error)?;
    if url.username().is_empty() && url.password().is_none() {
        return Ok(url);
    }
    let reason = "an address is stored and shown, so it must not have a user name or a password: \
                  leave them out, and give them to `Replica::sign_in` as a `Login`";
    Err(Error::Address { url: shown_text(text), reason: reason.to_owned() })
}

pub(crate) fn fetch_error(error: FetchError) -> Error {
    match error {
        FetchError::Address { url, reason } => Error::Address { url, reason },
        FetchError::Insecure { url } => {
            let reason = "credentials are sent only over https, or to this machine".to_owned();
            Error::Address { url, reason }
        }
        FetchError::Private { url, host } => {
            Error::Address { url, reason: format!("{host} is not a public address") }
        }
        FetchError::Client(_) => Error::Device(Box::new(error)),
        FetchError::Untrusted { .. } => Error::Untrusted { reason: error.to_string() },
        FetchError::Status { status: StatusCode::NOT_FOUND | StatusCode::GONE, .. }
        | FetchError::Page { status: StatusCode::NOT_FOUND | StatusCode::GONE, .. } => {
            Error::NotFound { reason: error.to_string() }
        }
        FetchError::Page { .. } => Error::Page { reason: error.to_string() },
        FetchError::Unreachable { .. }
        | FetchError::Timeout { .. }
        | FetchError::Interrupted { .. } => Error::Offline { reason: error.to_string() },
        FetchError::Status { status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, .. } => {
            Error::Denied { reason: error.to_string() }
        }
        error if error.is_temporary() => Error::Busy(Box::new(error)),
        error => Error::Remote(Box::new(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_this_device_and_of_the_caller_are_not_those_of_the_remote() {
        let client = || FetchError::Client("no certificates".to_owned());
        assert!(matches!(fetch_error(client()), Error::Device(_)));
        let sync = sync_error(SyncError::Fetch(client()));
        assert!(matches!(sync, Error::Device(_)) && !sync.is_temporary(), "{sync:?}");
        let (collection, url) = ("todo".parse().unwrap(), String::new());
        let forgotten = sync_error(SyncError::Forgotten { collection, url });
        assert!(matches!(forgotten, Error::NoRemote { .. }), "{forgotten:?}");
    }
}
