//! Dropped collections. Each is kept for a limited time as a separate store below the data directory.
//!
//! Each dropped collection is a directory `dropped/NAME-SECONDS`: a store with that one collection, and
//! `dropped.json`, which describes it and says until when it is kept. The description is written last, so
//! that an unfinished copy after a crash has none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use feedsync_client::{FileReaders, replace_file};
use feedsync_store::{
    CollectionName, Grant, GrantFilter, Role, SqliteStore, StoreError, SystemEnvironment, UserId,
    UserName, archive,
};
use serde_json::{Value, json};

use crate::context::{Context, OpenEndpoint};
use crate::failure::{Failure, warn};
use crate::invocation::command_at;

/// Name of the directory within the data directory.
const DIRECTORY: &str = "dropped";

/// Name of the file that describes a dropped collection.
const DESCRIPTION: &str = "dropped.json";

/// Minimum age of an unfinished copy before it is removed.
const MIN_UNFINISHED_AGE: Duration = Duration::from_secs(24 * 3_600);

/// A dropped collection that is still stored.
#[derive(Debug)]
pub(crate) struct Dropped {
    /// Directory of its store.
    pub(crate) directory: PathBuf,
    /// Name of the collection.
    pub(crate) name: String,
    /// Time of the drop, in seconds since 1970.
    pub(crate) at: u64,
    /// End of the retention, in seconds since 1970.
    pub(crate) until: u64,
    /// Number of items.
    pub(crate) items: u64,
    /// Number of items that no remote had.
    pub(crate) unshown: u64,
    /// Roles of users in the collection.
    pub(crate) roles: Vec<StoredRole>,
    /// Id of the user to whom the collection was charged.
    pub(crate) charged: Option<UserId>,
}

/// Role of a user in a dropped collection. Only this user gets the role again, not a later user of the same
/// name.
#[derive(Debug)]
pub(crate) struct StoredRole {
    /// Name of the user.
    user: UserName,
    /// Id of the user.
    id: UserId,
    /// Role that the user had.
    role: Role,
}

impl StoredRole {
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
    /// JSON description of the dropped collection.
    pub(crate) fn value(&self) -> Value {
        let Self { directory, name, at, until, items, unshown, roles, charged } = self;
        json!({
            "name": name,
            "dropped": at,
            "kept_until": until,
            "items": items,
            "unshown": unshown,
            "roles": roles.iter().map(StoredRole::value).collect::<Value>(),
            "charged": charged.as_ref().map(UserId::as_str),
            "directory": directory,
        })
    }

    /// Days until the end of the retention, rounded up.
    pub(crate) fn days_left(&self) -> u64 {
        self.until.saturating_sub(now()).div_ceil(24 * 3_600)
    }

    /// Opens the store of the dropped collection.
    pub(crate) fn open(&self) -> Result<SqliteStore, Failure> {
        SqliteStore::open(&self.directory, Arc::new(SystemEnvironment))
            .map_err(|error| self.unreadable(error))
    }

    /// Converts an error of the store into a failure with advice.
    pub(crate) fn unreadable(&self, error: StoreError) -> Failure {
        let (place, name) = (self.directory.display(), &self.name);
        if !error.is_damaged() {
            return Failure::from(error).prefix(&format!("{place}: "));
        }
        let elsewhere = command_at("NEW", "store restore --from BACKUP");
        Failure::store(format!("{place}: the copy of {name} that was kept is damaged: {error}")).hint(
            format!("put a backup of before the drop into a new directory, and export it there: {elsewhere}"),
        )
    }

    /// Restores the roles of users that still exist, and returns the number of these roles. The collection is
    /// charged to the same user as before.
    pub(crate) async fn give_roles(
        &self,
        home: &OpenEndpoint,
        collection: &CollectionName,
    ) -> Result<u64, Failure> {
        let users = home.store.users().await?;
        if let Some(user) = users.iter().find(|user| self.charged.as_ref() == Some(&user.id)) {
            home.store.charge_collection(collection, &user.id).await?;
        }
        let mut given = 0;
        for StoredRole { user, id, role } in &self.roles {
            if users.iter().any(|found| found.id == *id) {
                let collection = collection.clone();
                let grant = Grant { user: user.clone(), collection, role: *role };
                match home.endpoint.grant(grant).await {
                    Ok(()) => given += 1,
                    // A failure here is only a warning, because the collection is restored already.
                    Err(error) => warn(&format!("{user} does not become {role} again: {error}")),
                }
            }
        }
        Ok(given)
    }

    /// Removes the dropped collection permanently.
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
                // Earlier versions did not store roles.
                roles: match value["roles"].as_array() {
                    Some(roles) => roles.iter().map(StoredRole::read).collect::<Option<_>>()?,
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

/// Result of reading the description of a dropped collection.
enum Description {
    /// The description is complete.
    Known(Dropped),
    /// There is no description, because the copy is not finished.
    Missing,
    /// The description cannot be read.
    Unreadable { directory: PathBuf, reason: String },
}

impl Description {
    /// Failure for a description that cannot be read. The name of its directory names the collection.
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

/// Lists the dropped collections in a data directory, most recent first.
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

/// Failures for the descriptions that cannot be read.
pub(crate) fn faults(data: &Path) -> Vec<Failure> {
    let read = directories(data).into_iter().map(Dropped::read);
    read.filter_map(|description| description.fault()).collect()
}

/// Finds the most recently dropped collection of that name.
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
        Failure::not_found(format!("there is no dropped collection {name}"))
            .hint(format!("see them all: {}", context.command("collection undrop")))
    })
}

/// Copies a collection before it is dropped.
pub(crate) async fn keep(
    context: &Context,
    home: &OpenEndpoint,
    name: &CollectionName,
    unshown: u64,
    period: Duration,
) -> Result<Dropped, Failure> {
    let at = now();
    let (roles, charged) =
        (roles(home, name).await?, home.store.collection_charged_to(name).await?);
    let directory = fresh(&context.data, &format!("{name}-{at}"))?;
    let copied = copy(home, name, &directory).await;
    let items = match copied {
        Ok(items) => items,
        Err(error) => {
            // The first error is returned. A later sweep tries again to remove the directory.
            let _ = remove(&directory);
            return Err(error);
        }
    };
    let name = name.to_string();
    let until = at.saturating_add(period.as_secs());
    let dropped = Dropped { directory, name, at, until, items, unshown, roles, charged };
    let text = format!("{:#}\n", dropped.value());
    let file = dropped.directory.join(DESCRIPTION);
    replace_file(&file, text.as_bytes(), FileReaders::Owner)
        .map_err(|error| Failure::file(&file.display().to_string(), &error))?;
    Ok(dropped)
}

async fn roles(home: &OpenEndpoint, name: &CollectionName) -> Result<Vec<StoredRole>, Failure> {
    let mut roles = Vec::new();
    for Grant { user, role, .. } in home.store.grants(GrantFilter::Collection(name)).await? {
        if let Some(found) = home.store.user(&user).await? {
            roles.push(StoredRole { user, id: found.id, role });
        }
    }
    Ok(roles)
}

async fn copy(
    home: &OpenEndpoint,
    name: &CollectionName,
    directory: &Path,
) -> Result<u64, Failure> {
    let endpoint = home.endpoint.identity().await?.name;
    let to = SqliteStore::init(directory, &endpoint, Arc::new(SystemEnvironment))?;
    let items = archive(&*home.store, &to, name).await?.items;
    // Dropping the store ends the threads that create the reserve.
    drop(to);
    SqliteStore::remove_reserve(directory)?;
    Ok(items)
}

/// Removes dropped collections at the end of their retention. A failed removal is reported, and retried at
/// the next sweep.
pub(crate) fn sweep(data: &Path) {
    for directory in directories(data) {
        let is_over = match Dropped::read(directory.clone()) {
            Description::Known(dropped) => dropped.until <= now(),
            Description::Missing => age(&directory).is_some_and(|age| age > MIN_UNFINISHED_AGE),
            // The store of this collection may be intact.
            Description::Unreadable { .. } => false,
        };
        if is_over && let Err(error) = remove(&directory) {
            warn(&format!("{error}"));
        }
    }
}

/// Directory of dropped collections within a data directory.
pub(crate) fn directory(data: &Path) -> PathBuf {
    data.join(DIRECTORY)
}

fn directories(data: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.join(DIRECTORY)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Creates a new directory that only its owner can read.
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
