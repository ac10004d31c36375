//! What every command starts from: the data directory, the store and the endpoint that lives in it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use feedsync_core::ItemId;
use feedsync_endpoint::{Actor, Endpoint};
use feedsync_server::LocalHubs;
use feedsync_server::configuration::{self, Sources, StoreAddress};
use feedsync_store::{
    CollectionName, EndpointName, PageLimit, SqliteStore, StoreError, StoredItem,
    SystemEnvironment, Transfer, User, UserName,
};

use crate::arguments::Global;
use crate::failure::{Failure, Missing};
use crate::source::Way;
use crate::store::{self, Opened};

/// The configuration file of a data directory.
const CONFIGURATION: &str = "feedsync.toml";

/// The global options, made ready.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// Where logins and the configuration are, and the store unless it is named.
    pub(crate) data: PathBuf,
    /// The store that an option names.
    pub(crate) named: Option<StoreAddress>,
    /// The name of the endpoint if it is to be initialised.
    pub(crate) name: Option<EndpointName>,
    /// Whether to print JSON.
    pub(crate) json: bool,
}

/// An endpoint, its store, and where that is.
pub(crate) struct Home {
    /// The endpoint.
    pub(crate) endpoint: Endpoint,
    /// Its store.
    pub(crate) store: Arc<dyn Transfer>,
    /// The same, for what only its kind can do.
    pub(crate) opened: Opened,
    /// Where it is, without a password.
    pub(crate) place: String,
}

impl Context {
    /// From the global options.
    pub(crate) fn new(global: Global) -> Result<Self, Failure> {
        let data = data_directory(&global).ok_or_else(|| {
            Failure::usage("there is no home directory to keep the data in")
                .hint("name a directory: --data DIR, or FEEDSYNC_DATA")
        })?;
        let named =
            global.store.as_deref().map(|text| store::named("--store", text)).transpose()?;
        Ok(Self { data, named, name: global.endpoint, json: global.json })
    }

    /// Where the store is: as an option says, the environment, the configuration file, or else in the
    /// data directory.
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

    /// The name and the text of the configuration file: the one that is named, or that of the data
    /// directory, if it is there.
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

    /// Opens the store; it must have been initialised.
    pub(crate) async fn open(&self) -> Result<Home, Failure> {
        let address = self.address()?;
        check_not_lost(&address)?;
        let Some(opened) = Opened::open(&address).await? else {
            let hint = format!("initialise it: {}", self.command("init"));
            let place = store::shown(&address);
            return Err(
                Failure::store(format!("{place}: there is no endpoint here yet")).hint(hint)
            );
        };
        Ok(Home::new(opened, &address))
    }

    /// Makes a new endpoint in the store.
    pub(crate) async fn init(&self) -> Result<Home, Failure> {
        let address = self.address()?;
        check_not_lost(&address)?;
        let name = self.name.clone().unwrap_or_else(default_name);
        match Opened::init(&address, &name).await {
            Ok(opened) => Ok(Home::new(opened, &address)),
            Err(error @ StoreError::Place { .. }) => Err(Failure::refused(error)),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the store at an address; makes a new endpoint if there is none and it may be made. Of several
    /// who find none, one makes it.
    pub(crate) async fn open_or_init(
        &self,
        address: &StoreAddress,
        may_be_made: Result<(), Failure>,
    ) -> Result<Home, Failure> {
        if let Some(opened) = Opened::open(address).await? {
            return Ok(Home::new(opened, address));
        }
        check_not_lost(address)?;
        may_be_made?;
        let name = self.name.clone().unwrap_or_else(default_name);
        let opened = match Opened::init(address, &name).await {
            Err(error @ StoreError::Place { .. }) => {
                Opened::open(address).await?.ok_or_else(|| Failure::store(error))?
            }
            made => made?,
        };
        Ok(Home::new(opened, address))
    }

    /// The way out, with the logins of the data directory.
    pub(crate) fn way(&self) -> Way {
        Way::new(Some(self.data.clone()))
    }

    /// How to call the program with the same data directory and store.
    pub(crate) fn command(&self, arguments: &str) -> String {
        command(arguments)
    }

    /// How to call the program with another data directory.
    pub(crate) fn command_at(&self, data: &str, arguments: &str) -> String {
        command_at(data, arguments)
    }
}

/// Refuses a directory whose store lost its database: a new one in its place would hide the loss.
fn check_not_lost(address: &StoreAddress) -> Result<(), Failure> {
    let Some(directory) = store::directory(address).filter(|path| SqliteStore::is_lost(path))
    else {
        return Ok(());
    };
    let place = directory.display();
    let restore = command("restore --from BACKUP");
    Err(Failure::store(format!(
        "{place}: the database of the store that was here is gone or empty"
    ))
    .hint(format!("put the last backup back: {restore}; or begin anew in another directory")))
}

impl Home {
    fn new(opened: Opened, address: &StoreAddress) -> Self {
        // Who may use the store itself needs not to sign in.
        let local = Actor { user: None, address: Some("local".to_owned()) };
        let store = opened.store();
        let environment = Arc::new(SystemEnvironment);
        let endpoint = Endpoint::new(Arc::clone(&store) as _, environment).on_behalf_of(local);
        Self { endpoint, store, opened, place: store::shown(address) }
    }

    /// The user of that name.
    pub(crate) async fn user(&self, name: &UserName) -> Result<User, Failure> {
        let user = self.store.user(name).await?;
        user.ok_or_else(|| StoreError::NoUser(name.clone()).into())
    }

    /// The one item of that id, or whose id begins so.
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
        // Ids that begin so come right after it in the order of ids.
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

/// The id, or what one may begin with, that somebody typed. An unfinished escape (`%4`) is no identifier, but it may
/// begin one: of that, what is before it.
pub(crate) fn typed_id(id: &str) -> Result<ItemId, Failure> {
    let whole = || ItemId::new(id.rsplit_once('%').map_or("", |(whole, _)| whole));
    let typed = ItemId::new(id).or_else(|_| whole());
    typed.map_err(|error| Failure::usage(format!("{id:?} is no item id: {error}")))
}

/// How the program was called: its name, and the options that say where data and store are.
static CALL: OnceLock<String> = OnceLock::new();

/// Remembers the global options, so that advice repeats them.
pub(crate) fn remember_call(global: &Global) {
    let mut call = program();
    let data = global.data.as_ref().filter(|data| default_directory().as_ref() != Some(*data));
    if let Some(data) = data {
        call.push_str(&format!(" --data {}", quoted(&data.display().to_string())));
    }
    let named = global.store.as_deref().and_then(|text| store::named("--store", text).ok());
    if let Some(named) = named {
        call.push_str(&format!(" --store {}", quoted(&named.to_string())));
    }
    // The program is called once.
    let _ = CALL.set(call);
}

/// A command line with the same data directory and store, for advice.
pub(crate) fn command(arguments: &str) -> String {
    format!("{} {arguments}", CALL.get_or_init(program))
}

/// A command line with another data directory, for advice.
pub(crate) fn command_at(data: &str, arguments: &str) -> String {
    format!("{} --data {} {arguments}", program(), quoted(data))
}

/// A word as a shell reads it back.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-:@%=+,~\\".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The program as it was called, if that was by a path.
fn program() -> String {
    let called = std::env::args().next().filter(|name| name.contains('/'));
    called.unwrap_or_else(|| "feedsync".to_owned())
}

fn no_item(collection: &CollectionName, id: &str) -> Failure {
    let missing = Missing::Item { collection: collection.clone(), id: id.to_owned() };
    Failure::not_found(format!("there is no item {id} in {collection}"))
        .hint(format!("see them all: {}", command(&format!("ls {collection} --all"))))
        .of_missing(missing)
}

/// The directory that a person named, or the platform's.
pub(crate) fn data_directory(global: &Global) -> Option<PathBuf> {
    global.data.clone().or_else(default_directory)
}

/// Hubs of this user on this machine, whatever data directories they have.
pub(crate) fn local_hubs() -> Option<LocalHubs> {
    let home = || from("HOME").map(|home| home.join(".local/state"));
    let base = match cfg!(any(windows, target_os = "macos")) {
        true => default_directory().map(|data| data.join("state")),
        false => from("XDG_STATE_HOME").or_else(home).map(|state| state.join("feedsync")),
    };
    base.map(|base| LocalHubs::within(base.join("hubs")))
}

/// A directory that the environment names.
fn from(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Where the platform keeps a program's data.
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

/// The first label of the host's name, never the person's: it is part of every `by` and so goes to
/// whoever reads the feeds.
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
