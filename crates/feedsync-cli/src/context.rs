//! Basis of every command: the data directory, the store, and the endpoint in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use feedsync_core::ItemId;
use feedsync_endpoint::{Actor, Endpoint};
use feedsync_http::LocalHubs;
use feedsync_server::configuration::{self, Sources, StoreAddress};
use feedsync_store::{
    CollectionName, EndpointName, PageLimit, SqliteStore, StoreError, StoredItem,
    SystemEnvironment, Transfer, User, UserName,
};

use crate::failure::{Failure, Missing};
use crate::global::Global;
use crate::invocation::{command, command_at, see_all, set_invocation};
use crate::source::NetworkAccess;
use crate::store::{self, OpenStore};

/// Name of the configuration file in a data directory.
pub(crate) const CONFIGURATION: &str = "feedsync.toml";

/// Global options after parsing.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// Data directory, with the logins and the configuration; it also holds the store unless an option names
    /// another one.
    pub(crate) data: PathBuf,
    /// Store that `--store` names.
    pub(crate) named: Option<StoreAddress>,
    /// Name of a new endpoint.
    pub(crate) name: Option<EndpointName>,
    /// Whether to print JSON.
    pub(crate) json: bool,
}

/// An open endpoint with its store.
pub(crate) struct OpenEndpoint {
    /// The endpoint.
    pub(crate) endpoint: Endpoint,
    /// Its store.
    pub(crate) store: Arc<dyn Transfer>,
    /// The same store with the operations of its kind.
    pub(crate) opened: OpenStore,
    /// Address of the store, without a password.
    pub(crate) place: String,
}

impl Context {
    /// Creates a context from the global options.
    pub(crate) fn new(global: Global) -> Result<Self, Failure> {
        let data = data_directory(&global).ok_or_else(|| {
            Failure::usage("there is no home directory to keep the data in")
                .hint("name a directory: --data DIR, or FEEDSYNC_DATA")
        })?;
        let named =
            global.store.as_deref().map(|text| store::named("--store", text)).transpose()?;
        Ok(Self { data, named, name: global.endpoint, json: global.json })
    }

    /// Address of the store: from the option, the environment, the configuration file, or else the data
    /// directory.
    pub(crate) fn address(&self) -> Result<StoreAddress, Failure> {
        if let Some(named) = &self.named {
            return Ok(named.clone());
        }
        let path = std::env::var_os("FEEDSYNC_CONFIG").map(PathBuf::from);
        let environment =
            std::env::var(store::VARIABLE).map(|text| (store::VARIABLE.to_owned(), text));
        let sources = Sources {
            file: self.configuration(path.as_deref())?,
            environment: environment.into_iter().collect(),
            flags: Vec::new(),
        };
        let config = configuration::configure(&sources).map_err(Failure::usage)?;
        Ok(config.store.unwrap_or_else(|| StoreAddress::Sqlite(self.data.clone())))
    }

    /// Name and text of the configuration file: the given one, or that of the data directory if it exists.
    pub(crate) fn configuration(
        &self,
        named: Option<&Path>,
    ) -> Result<Option<(String, String)>, Failure> {
        let ours = || Some(self.data.join(CONFIGURATION)).filter(|path| path.exists());
        let Some(path) = named.map(Path::to_owned).or_else(ours) else { return Ok(None) };
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path);
        text.map(|text| Some((name.clone(), text))).map_err(|error| Failure::file(&name, &error))
    }

    /// Opens the store, which must be initialised.
    pub(crate) async fn open(&self) -> Result<OpenEndpoint, Failure> {
        let address = self.address()?;
        check_not_lost(&address)?;
        let Some(opened) = OpenStore::open(&address).await? else {
            let hint = format!("initialise it: {}", self.command("store init"));
            let place = store::shown(&address);
            return Err(
                Failure::store(format!("{place}: there is no endpoint here yet")).hint(hint)
            );
        };
        Ok(OpenEndpoint::new(opened, &address))
    }

    /// Creates a new endpoint in the store.
    pub(crate) async fn init(&self) -> Result<OpenEndpoint, Failure> {
        let address = self.address()?;
        check_not_lost(&address)?;
        let name = self.name.clone().unwrap_or_else(default_name);
        match OpenStore::init(&address, &name).await {
            Ok(opened) => Ok(OpenEndpoint::new(opened, &address)),
            Err(error @ StoreError::Place { .. }) => Err(Failure::refused(error)),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the store at an address. If it does not exist and `may_be_made` allows it, a new endpoint is
    /// created. If several processes do this at once, one of them creates the endpoint and the others open
    /// it.
    pub(crate) async fn open_or_init(
        &self,
        address: &StoreAddress,
        may_be_made: Result<(), Failure>,
    ) -> Result<OpenEndpoint, Failure> {
        if let Some(opened) = OpenStore::open(address).await? {
            return Ok(OpenEndpoint::new(opened, address));
        }
        check_not_lost(address)?;
        may_be_made?;
        let name = self.name.clone().unwrap_or_else(default_name);
        let opened = match OpenStore::init(address, &name).await {
            Err(error @ StoreError::Place { .. }) => {
                OpenStore::open(address).await?.ok_or_else(|| Failure::store(error))?
            }
            made => made?,
        };
        Ok(OpenEndpoint::new(opened, address))
    }

    /// Access to the network, with the logins of the data directory.
    pub(crate) fn way(&self) -> NetworkAccess {
        NetworkAccess::new(Some(self.data.clone()))
    }

    /// Command line of this program with the same data directory and store.
    pub(crate) fn command(&self, arguments: &str) -> String {
        command(arguments)
    }

    /// Command line of this program with another data directory.
    pub(crate) fn command_at(&self, data: &str, arguments: &str) -> String {
        command_at(data, arguments)
    }
}

/// Refuses a directory whose store lost its database. A new database in its place would hide the loss.
fn check_not_lost(address: &StoreAddress) -> Result<(), Failure> {
    let Some(directory) = store::directory(address).filter(|path| SqliteStore::is_lost(path))
    else {
        return Ok(());
    };
    let place = directory.display();
    let restore = command("store restore --from BACKUP");
    Err(Failure::store(format!(
        "{place}: the database of the store that was here is gone or empty"
    ))
    .hint(format!("put the last backup back: {restore}; or begin anew in another directory")))
}

impl OpenEndpoint {
    fn new(opened: OpenStore, address: &StoreAddress) -> Self {
        // A user who has access to the store itself does not need to sign in.
        let local = Actor { user: None, address: Some("local".to_owned()) };
        let store = opened.store();
        let environment = Arc::new(SystemEnvironment);
        let endpoint = Endpoint::new(Arc::clone(&store) as _, environment).on_behalf_of(local);
        #[cfg(feature = "functions")]
        let endpoint = crate::functions::with_functions(endpoint);
        Self { endpoint, store, opened, place: store::shown(address) }
    }

    /// Finds the user with this name.
    pub(crate) async fn user(&self, name: &UserName) -> Result<User, Failure> {
        let user = self.store.user(name).await?;
        user.ok_or_else(|| StoreError::NoUser(name.clone()).into())
    }

    /// Finds the item with this id, or the only item whose id begins with it.
    pub(crate) async fn item(
        &self,
        collection: &CollectionName,
        id: &str,
    ) -> Result<StoredItem, Failure> {
        let typed = typed_id(id)?;
        if typed.as_str() == id
            && let Some(stored) = self.store.item(collection, &typed).await?
        {
            return Ok(stored);
        }
        // In the order of ids, those that begin with `id` come right after it.
        let mut found: Option<StoredItem> = None;
        let mut after = typed;
        loop {
            let page =
                self.store.items_by_id(collection, Some(&after), PageLimit::items(100)).await?;
            for stored in page.items {
                let other = stored.item.id.clone();
                if other.as_str().starts_with(id) {
                    if let Some(found) = found {
                        let message = format!(
                            "more than one item of {collection} begins with {id}: {}, {other}",
                            found.item.id
                        );
                        return Err(Failure::usage(message).hint("type more of the id"));
                    }
                    found = Some(stored);
                } else if other.as_str() > id {
                    return found.ok_or_else(|| no_item(collection, id));
                }
                after = other;
            }
            if !page.more {
                return found.ok_or_else(|| no_item(collection, id));
            }
        }
    }
}

/// Parses a typed id, or the beginning of one. An unfinished escape (`%4`) is not an identifier, but an
/// identifier may begin with it. In that case only the text before the escape is used.
pub(crate) fn typed_id(id: &str) -> Result<ItemId, Failure> {
    let whole = || ItemId::new(id.rsplit_once('%').map_or("", |(whole, _)| whole));
    let typed = ItemId::new(id).or_else(|_| whole());
    typed.map_err(|error| Failure::usage(format!("{id:?} is no item id: {error}")))
}

fn no_item(collection: &CollectionName, id: &str) -> Failure {
    let missing = Missing::Item { collection: collection.clone(), id: id.to_owned() };
    Failure::not_found(format!("there is no item {id} in {collection}"))
        .hint(see_all(&format!("ls {collection} --all")))
        .of_missing(missing)
}

/// Has advice repeat the options that name the data directory and the store.
pub(crate) fn repeat_in_advice(global: &Global) {
    let data = global.data.as_ref().filter(|data| default_directory().as_ref() != Some(*data));
    let named = global.store.as_deref().and_then(|text| store::named("--store", text).ok());
    let named = named.map(|address| address.to_string());
    set_invocation(data.map(PathBuf::as_path), named.as_deref());
}

/// Data directory that the options name, or the default of the platform.
pub(crate) fn data_directory(global: &Global) -> Option<PathBuf> {
    global.data.clone().or_else(default_directory)
}

/// Registry of this user's hubs on this machine, independent of their data directories.
pub(crate) fn local_hubs() -> Option<LocalHubs> {
    let home = || from("HOME").map(|home| home.join(".local/state"));
    let base = match cfg!(any(windows, target_os = "macos")) {
        true => default_directory().map(|data| data.join("state")),
        false => from("XDG_STATE_HOME").or_else(home).map(|state| state.join("feedsync")),
    };
    base.map(|base| LocalHubs::within(base.join("hubs")))
}

/// Absolute path in an environment variable.
fn from(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Default data directory of the platform.
fn default_directory() -> Option<PathBuf> {
    let base = if cfg!(windows) {
        from("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        from("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        from("XDG_DATA_HOME").or_else(|| from("HOME").map(|home| home.join(".local/share")))
    };
    base.map(|base| base.join("feedsync"))
}

/// Default name of an endpoint: the first label of the host's name, never the name of the user. It is part of
/// every `by`, which all readers of the feeds see.
pub(crate) fn default_name() -> EndpointName {
    let host = std::fs::read_to_string(Path::new("/proc/sys/kernel/hostname"))
        .ok()
        .or_else(|| std::env::var(if cfg!(windows) { "COMPUTERNAME" } else { "HOSTNAME" }).ok())
        .or_else(|| {
            let output = std::process::Command::new("hostname").output().ok()?;
            String::from_utf8(output.stdout).ok()
        })
        .unwrap_or_default();
    name_of_host(&host)
}

fn name_of_host(host: &str) -> EndpointName {
    let label = host.trim().split('.').next().unwrap_or_default().to_ascii_lowercase();
    let allowed =
        |character: &char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let label: String = label.chars().filter(allowed).take(63).collect();
    let label = label.trim_start_matches(['_', '-']);
    EndpointName::new(label)
        .or_else(|_| EndpointName::new("endpoint"))
        .unwrap_or_else(|_| unreachable!("\"endpoint\" is a name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_named_after_its_host_unless_that_is_no_name() {
        for (host, name) in [
            ("Desk.example.org\n", "desk"),
            ("annas-laptop", "annas-laptop"),
            ("-x", "x"),
            ("", "endpoint"),
            ("日本", "endpoint"),
            ("import", "endpoint"),
        ] {
            assert_eq!(name_of_host(host).as_str(), name, "{host}");
        }
    }
}
