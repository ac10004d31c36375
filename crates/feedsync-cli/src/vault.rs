//! Vaults of notes for the plugin Self-hosted LiveSync of Obsidian: a database, the user whose devices use it, and what
//! a device needs to know of both.

pub(crate) mod certificate;
pub(crate) mod mirror;
mod qr;
mod secrets;
mod setup_uri;

use console::Term;
use feedsync_couch::{DatabaseName, security_of};
use feedsync_endpoint::{NewToken, NewUser, PeopleError};
use feedsync_store::{
    HISTORY_SECONDS, History, NewDatabase, Scope, StoreError, TokenKind, User, UserName,
};
use serde_json::{Value, json};

use crate::context::{Context, OpenEndpoint};
use crate::failure::Failure;
use crate::output::{BOLD, DIM};

use setup_uri::DeviceSettings;

/// Letters of the passphrase of notes: 100 bits.
const NOTES_LETTERS: usize = 20;

/// Letters of the passphrase of a Setup URI: 60 bits. A person types them once, and each guess takes long.
const SETUP_LETTERS: usize = 12;

/// Name of the administrator whom a hub without users gets.
const ADMINISTRATOR: &str = "admin";

/// A vault and its user.
#[derive(Debug, Clone)]
pub(crate) struct Vault {
    /// Name of its database.
    pub(crate) database: DatabaseName,
    /// User whose devices use it.
    pub(crate) user: UserName,
}

/// Result of creating a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made {
    /// Whether the hub got its first user, an administrator.
    pub(crate) administrator: bool,
}

/// Settings of a device, as text for its plugin.
#[derive(Debug)]
pub(crate) struct DeviceLink {
    settings: DeviceSettings,
    setup_uri: String,
    setup_passphrase: String,
}

/// Passphrase with which the devices of a vault encrypt notes. The hub never knows it.
#[derive(Debug, Clone)]
pub(crate) enum NotesPassphrase {
    /// A new one, for the first device.
    New,
    /// The passphrase of the other devices.
    Given(String),
    /// Notes are not encrypted.
    None,
}

/// Address of the databases of a hub at a public base.
pub(crate) fn below(base: &str) -> String {
    format!("{}/couch", base.trim_end_matches('/'))
}

/// Parses the name of a vault.
pub(crate) fn database(name: &str) -> Result<DatabaseName, Failure> {
    let database: DatabaseName = name.parse().map_err(|_| {
        let hint = "a name has a-z, 0-9 and _$()+-, and begins with a letter";
        Failure::usage(format!("{name:?} is no name of a vault")).hint(hint)
    })?;
    // The plugin takes the name as one part of an address.
    match name.contains('/') || database.is_system() {
        true => Err(Failure::usage(format!("{name:?} is no name of a vault"))),
        false => Ok(database),
    }
}

impl Made {
    /// Text about the administrator, for the person who created a vault.
    pub(crate) fn text(self, context: &Context) -> String {
        if !self.administrator {
            return String::new();
        }
        let password = context.command(&format!("user password {ADMINISTRATOR}"));
        format!(
            "The hub has its first user, the administrator {ADMINISTRATOR}, who has no password yet. To sign in to the \
             pages: {password}\n\n"
        )
    }
}

impl Vault {
    /// A vault with this name. The user has the same name unless another one is given.
    pub(crate) fn new(name: &str, user: Option<UserName>) -> Result<Self, Failure> {
        let database = database(name)?;
        let user = user.map_or_else(|| UserName::new(name), Ok).map_err(|_| {
            Failure::usage(format!("{name:?} is no name of a user")).hint("name one: --user NAME")
        })?;
        Ok(Self { database, user })
    }

    /// Whether its database exists.
    pub(crate) async fn exists(&self, home: &OpenEndpoint) -> Result<bool, Failure> {
        Ok(home.endpoint.databases().database(&self.database).await?.is_some())
    }

    /// Creates the database, and the user unless it exists; such a user may use databases only, and has no password. A
    /// hub without users gets an administrator, who has no password either. Fails if the database exists.
    pub(crate) async fn create(&self, home: &OpenEndpoint) -> Result<Made, Failure> {
        let databases = home.endpoint.databases();
        if self.exists(home).await? {
            return Err(self.taken());
        }
        let is_first = home.store.users().await?.is_empty();
        let found = self.found_user(home).await?;
        if is_first {
            if self.user.as_str() == ADMINISTRATOR {
                return Err(self.administers());
            }
            add_user(home, UserName::new(ADMINISTRATOR).map_err(Failure::refused)?, true).await?;
        }
        let user = match found {
            Some(user) => user,
            None => add_user(home, self.user.clone(), false).await?,
        };
        let new = NewDatabase {
            security: Some(security_of(user.name.as_str())),
            // Deleted notes can be restored.
            history: History::Kept { seconds: HISTORY_SECONDS },
            owner: Some(user.id),
        };
        if databases.create_database(&self.database, new).await?.is_none() {
            return Err(self.taken());
        }
        Ok(Made { administrator: is_first })
    }

    /// The user, if there is one. Fails for a user who may use more than databases: devices keep the token in files of the
    /// application.
    async fn found_user(&self, home: &OpenEndpoint) -> Result<Option<User>, Failure> {
        match home.store.user(&self.user).await? {
            Some(user) if user.administrator => Err(self.administers()),
            Some(user) if !user.databases_only => {
                let restrict = crate::invocation::command(&format!("user restrict {}", user.name));
                let message =
                    format!("{} may use more than databases, and so could each device", user.name);
                Err(Failure::refused(message).hint(format!(
                    "name another user: --user NAME; or restrict this one: {restrict}"
                )))
            }
            found => Ok(found),
        }
    }

    fn administers(&self) -> Failure {
        let message =
            format!("{} is an administrator, and devices would get all rights", self.user);
        Failure::refused(message).hint("name another user: --user NAME")
    }

    /// Issues a token for one device, and packs it with the other settings into a Setup URI. The user must exist, and must
    /// not be an administrator.
    pub(crate) async fn link(
        &self,
        home: &OpenEndpoint,
        url: &str,
        notes: NotesPassphrase,
    ) -> Result<DeviceLink, Failure> {
        let user = self.found_user(home).await?;
        let user = user.ok_or_else(|| Failure::from(StoreError::NoUser(self.user.clone())))?;
        let new = NewToken {
            user: user.name,
            kind: TokenKind::Access,
            label: format!("vault {}", self.database),
            scope: Scope { role: None, collection: None },
            expires: None,
        };
        let passphrase = match notes {
            NotesPassphrase::New => Some(secrets::passphrase(&random::<NOTES_LETTERS>()?)),
            NotesPassphrase::Given(passphrase) => Some(passphrase),
            NotesPassphrase::None => None,
        };
        let setup_passphrase = secrets::passphrase(&random::<SETUP_LETTERS>()?);
        let (token, _) = home.endpoint.issue_token(new).await?;
        let settings = DeviceSettings {
            url: url.to_owned(),
            database: self.database.to_string(),
            user: self.user.to_string(),
            password: token.as_str().to_owned(),
            passphrase,
        };
        let setup_uri = settings.setup_uri(&setup_passphrase, &random()?).map_err(no_randomness)?;
        Ok(DeviceLink { settings, setup_uri, setup_passphrase })
    }

    fn taken(&self) -> Failure {
        let hint = format!(
            "for another device of it: {}",
            crate::invocation::command(&format!("vault link {}", self.database))
        );
        Failure::refused(format!("there is a database {} already", self.database)).hint(hint)
    }
}

impl DeviceLink {
    /// For programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "url": self.settings.url,
            "database": self.settings.database,
            "user": self.settings.user,
            "token": self.settings.password,
            "passphrase": self.settings.passphrase,
            "setup_uri": self.setup_uri,
            "setup_passphrase": self.setup_passphrase,
        })
    }

    /// For people, with a QR code where a terminal has room for it.
    pub(crate) fn text(&self) -> String {
        let Self { settings, setup_uri, setup_passphrase } = self;
        let code = Some(Term::stdout()).filter(Term::is_term).map(|terminal| terminal.size().1);
        let code = code.and_then(|columns| qr::code(setup_uri, usize::from(columns)));
        let code = code.map(|code| format!("{}\n", qr::on_any_background(&code)));
        let notes = settings.passphrase.as_ref().map_or(
            "The notes are not encrypted: the hub can read them.\n".to_owned(),
            |passphrase| {
                format!(
                    "The notes are encrypted with {BOLD}{passphrase}{BOLD:#}\n  {DIM}The hub does not know \
                     it. Write it down: without it nobody can read the notes.{DIM:#}\n"
                )
            },
        );
        format!(
            "In Obsidian, install the plugin Self-hosted LiveSync, and choose \"Use the copied setup URI\":\n\n\
             {setup_uri}\n\n{code}\
             Passphrase of the Setup URI: {BOLD}{setup_passphrase}{BOLD:#}\n{notes}\n\
             Other applications: {url}/{database}, user {user}, password {token}\n",
            code = code.unwrap_or_default(),
            url = settings.url,
            database = settings.database,
            user = settings.user,
            token = settings.password,
        )
    }
}

async fn add_user(
    home: &OpenEndpoint,
    name: UserName,
    administrator: bool,
) -> Result<User, PeopleError> {
    let databases_only = !administrator;
    home.endpoint.add_user(NewUser { name, password: None, administrator, databases_only }).await
}

fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], Failure> {
    secrets::random().map_err(no_randomness)
}

fn no_randomness(_: ring::error::Unspecified) -> Failure {
    Failure::store(StoreError::Unknown("the system gives no random bytes".to_owned()))
}
