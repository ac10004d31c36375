//! Dropped collections, kept for a time as stores of their own below the data directory.
//!
//! Each is a directory `dropped/NAME-SECONDS`: a store with that one collection, and `dropped.json`, which says what it
//! is and until when it is kept. The latter is written last, so that what a crash left behind has none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use feedsync_client::{Readers, replace_file};
use feedsync_store::{
    CollectionName, Grant, GrantsOf, Role, SqliteStore, StoreError, SystemEnvironment, UserId,
    UserName, archive,
};
use serde_json::{Value, json};

use crate::context::{Context, Home, command_at};
use crate::failure::{Failure, warn};

/// The directory in the data directory.
const DIRECTORY: &str = "dropped";

/// File that describes a kept collection.
const DESCRIPTION: &str = "dropped.json";

/// An unfinished copy that is older is removed.
const UNFINISHED: Duration = Duration::from_secs(24 * 3_600);

/// A collection that was dropped and is kept.
#[derive(Debug)]
pub(crate) struct Dropped {
    /// Its store.
    pub(crate) directory: PathBuf,
    /// Its name.
    pub(crate) name: String,
    /// Seconds since 1970 at which it was dropped.
    pub(crate) at: u64,
    /// Seconds since 1970 until which it is kept.
    pub(crate) until: u64,
    /// Number of its items.
    pub(crate) items: u64,
    /// Number of items that no remote had.
    pub(crate) unshown: u64,
    /// Roles that users had in it.
    pub(crate) roles: Vec<KeptRole>,
    /// Id of the user to whom it was charged.
    pub(crate) charged: Option<UserId>,
}

/// A role that a user had in a dropped collection. It is given again to this user alone, and to no later one of the name.
#[derive(Debug)]
pub(crate) struct KeptRole {
    /// Name of the user.
    user: UserName,
    /// Id of the user.
    id: UserId,
    /// Role that the user had.
    role: Role,
}

impl KeptRole {
    fn value(&self) -> Value {
        let Self { user, id, role } = self;
        json!({ "user": user.as_str(), "id": id.as_str(), "role": role.name() })
    }

    fn read(value: &Value) -> Option<Self> {
        Some(Self {
            user: UserName::new(value["user"].as_str()?).ok()?,
            id: UserId::new(value["id"].as_str()?).ok()?,
            role: value["role"].as_str()?.parse().ok()?,
        })
    }
}

impl Dropped {
    /// For programs.
    pub(crate) fn value(&self) -> Value {
        let Self { directory, name, at, until, items, unshown, roles, charged } = self;
        json!({
            "name": name,
            "dropped": at,
            "kept_until": until,
            "items": items,
            "unshown": unshown,
            "roles": roles.iter().map(KeptRole::value).collect::<Value>(),
            "charged": charged.as_ref().map(UserId::as_str),
            "directory": directory,
        })
    }

    /// Days that it is still kept, rounded up.
    pub(crate) fn days_left(&self) -> u64 {
        self.until.saturating_sub(now()).div_ceil(24 * 3_600)
    }

    /// Opens its store.
    pub(crate) fn open(&self) -> Result<SqliteStore, Failure> {
        SqliteStore::open(&self.directory, Arc::new(SystemEnvironment))
            .map_err(|error| self.unreadable(error))
    }

    /// An error of its store, and what can be done about it.
    pub(crate) fn unreadable(&self, error: StoreError) -> Failure {
        let (place, name) = (self.directory.display(), &self.name);
        if !error.is_damaged() {
            return Failure::from(error).prefix(&format!("{place}: "));
        }
        let elsewhere = command_at("NEW", "restore --from BACKUP");
        Failure::store(format!("{place}: the copy of {name} that was kept is damaged: {error}")).hint(
            format!("put a backup of before the drop into a new directory, and export it there: {elsewhere}"),
        )
    }

    /// Gives the users that are still there the roles that they had, and returns the number of these. The collection is
    /// charged to the same user as before.
    pub(crate) async fn give_roles(
        &self,
        home: &Home,
        collection: &CollectionName,
    ) -> Result<u64, Failure> {
        let users = home.store.users().await?;
        if let Some(user) = users.iter().find(|user| self.charged.as_ref() == Some(&user.id)) {
            home.store.charge_collection(collection, &user.id).await?;
        }
        let mut given = 0;
        for KeptRole { user, id, role } in &self.roles {
            if users.iter().any(|found| found.id == *id) {
                let collection = collection.clone();
                let grant = Grant { user: user.clone(), collection, role: *role };
                match home.endpoint.grant(grant).await {
                    Ok(()) => given += 1,
                    // The collection is there already.
                    Err(error) => warn(&format!("{user} does not become {role} again: {error}")),
                }
            }
        }
        Ok(given)
    }

    /// Removes it for good.
    pub(crate) fn remove(&self) -> Result<(), Failure> {
        remove(&self.directory)
    }

    fn read(directory: PathBuf) -> Description {
        let unreadable =
            |directory: PathBuf, reason: String| Description::Unreadable { directory, reason };
        let text = match fs::read(directory.join(DESCRIPTION)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Description::Missing;
            }
            Err(error) => return unreadable(directory, error.to_string()),
        };
        let value: Value = match serde_json::from_slice(&text) {
            Ok(value) => value,
            Err(error) => return unreadable(directory, error.to_string()),
        };
        let number = |name: &str| value[name].as_u64();
        let known = || {
            Some(Self {
                name: value["name"].as_str()?.to_owned(),
                at: number("dropped")?,
                until: number("kept_until")?,
                items: number("items")?,
                unshown: number("unshown")?,
                // Earlier versions kept none.
                roles: match value["roles"].as_array() {
                    Some(roles) => roles.iter().map(KeptRole::read).collect::<Option<_>>()?,
                    None => Vec::new(),
                },
                charged: value["charged"].as_str().and_then(|id| UserId::new(id).ok()),
                directory: directory.clone(),
            })
        };
        match known() {
            Some(dropped) => Description::Known(dropped),
            None => unreadable(directory, "it lacks a member".to_owned()),
        }
    }
}

/// The description of a directory of a kept collection.
enum Description {
    /// All that is known of it.
    Known(Dropped),
    /// There is none: the copy is not finished.
    Missing,
    /// There is one that cannot be read.
    Unreadable { directory: PathBuf, reason: String },
}

impl Description {
    /// The description that cannot be read, if it is one: the directory is named after the collection.
    fn fault(&self) -> Option<Failure> {
        let Self::Unreadable { directory, reason } = self else { return None };
        let file = directory.join(DESCRIPTION);
        let store = directory.display().to_string();
        Some(Failure::store(format!("{}: it cannot be read: {reason}", file.display())).hint(
            format!(
                "the collection is in the store beside it, which can be exported: {}",
                command_at(&store, "export NAME")
            ),
        ))
    }

    fn is_of(&self, name: &CollectionName) -> bool {
        let Self::Unreadable { directory, .. } = self else { return false };
        let called = directory.file_name().unwrap_or_default().to_string_lossy();
        let rest = called.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('-'));
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
    }
}

/// All that are kept in a data directory, the last one first.
pub(crate) fn list(data: &Path) -> Vec<Dropped> {
    let read = directories(data).into_iter().map(Dropped::read);
    let known = |description| match description {
        Description::Known(dropped) => Some(dropped),
        Description::Missing | Description::Unreadable { .. } => None,
    };
    let mut found: Vec<_> = read.filter_map(known).collect();
    found.sort_by_key(|dropped| std::cmp::Reverse(dropped.at));
    found
}

/// Those whose description cannot be read, one failure each.
pub(crate) fn faults(data: &Path) -> Vec<Failure> {
    let read = directories(data).into_iter().map(Dropped::read);
    read.filter_map(|description| description.fault()).collect()
}

/// The last one of that name.
pub(crate) fn find(context: &Context, name: &CollectionName) -> Result<Dropped, Failure> {
    let found = list(&context.data).into_iter().find(|dropped| dropped.name == name.as_str());
    let unreadable = || {
        let read = directories(&context.data).into_iter().map(Dropped::read);
        read.filter(|description| description.is_of(name)).find_map(|one| one.fault())
    };
    found.ok_or_else(|| {
        if let Some(fault) = unreadable() {
            return fault;
        }
        Failure::not_found(format!("no dropped collection {name} is kept"))
            .hint(format!("see them all: {}", context.command("undrop")))
    })
}

/// Copies a collection, so that it can be dropped.
pub(crate) async fn keep(
    context: &Context,
    home: &Home,
    name: &CollectionName,
    unshown: u64,
    period: Duration,
) -> Result<Dropped, Failure> {
    let at = now();
    let (roles, charged) = (roles(home, name).await?, home.store.charged_collection(name).await?);
    let directory = fresh(&context.data, &format!("{name}-{at}"))?;
    let copied = copy(home, name, &directory).await;
    let items = match copied {
        Ok(items) => items,
        Err(error) => {
            // The error came first; a later sweep tries to remove the rest again.
            let _ = remove(&directory);
            return Err(error);
        }
    };
    let name = name.to_string();
    let until = at.saturating_add(period.as_secs());
    let dropped = Dropped { directory, name, at, until, items, unshown, roles, charged };
    let text = format!("{:#}\n", dropped.value());
    let file = dropped.directory.join(DESCRIPTION);
    replace_file(&file, text.as_bytes(), Readers::Owner)
        .map_err(|error| Failure::file(&file.display().to_string(), &error))?;
    Ok(dropped)
}

async fn roles(home: &Home, name: &CollectionName) -> Result<Vec<KeptRole>, Failure> {
    let mut roles = Vec::new();
    for Grant { user, role, .. } in home.store.grants(GrantsOf::Collection(name)).await? {
        if let Some(found) = home.store.user(&user).await? {
            roles.push(KeptRole { user, id: found.id, role });
        }
    }
    Ok(roles)
}

async fn copy(home: &Home, name: &CollectionName, directory: &Path) -> Result<u64, Failure> {
    let endpoint = home.endpoint.identity().await?.name;
    let to = SqliteStore::init(directory, &endpoint, Arc::new(SystemEnvironment))?;
    let items = archive(&*home.store, &to, name).await?.items;
    // It ends the threads that make the reserve.
    drop(to);
    SqliteStore::remove_reserve(directory)?;
    Ok(items)
}

/// Removes what is kept no longer. What cannot be removed is said, and tried again the next time.
pub(crate) fn sweep(data: &Path) {
    for directory in directories(data) {
        let is_over = match Dropped::read(directory.clone()) {
            Description::Known(dropped) => dropped.until <= now(),
            Description::Missing => age(&directory).is_some_and(|age| age > UNFINISHED),
            // Its collection may be whole.
            Description::Unreadable { .. } => false,
        };
        if is_over && let Err(error) = remove(&directory) {
            warn(&format!("{error}"));
        }
    }
}

fn directories(data: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.join(DIRECTORY)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// A new directory that only its owner reads.
fn fresh(data: &Path, name: &str) -> Result<PathBuf, Failure> {
    let parent = data.join(DIRECTORY);
    let failed = |error: io::Error| Failure::file(&parent.display().to_string(), &error);
    private(&parent).or_else(exists).map_err(failed)?;
    for number in 1_u64.. {
        let directory = match number {
            1 => parent.join(name),
            number => parent.join(format!("{name}-{number}")),
        };
        match private(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    unreachable!("there is always another number")
}

fn exists(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}

fn private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

fn remove(directory: &Path) -> Result<(), Failure> {
    fs::remove_dir_all(directory)
        .map_err(|error| Failure::file(&directory.display().to_string(), &error))
}

fn age(directory: &Path) -> Option<Duration> {
    SystemTime::now().duration_since(directory.metadata().ok()?.modified().ok()?).ok()
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
