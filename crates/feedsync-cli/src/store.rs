//! Stores and their addresses: SQLite in a directory, or a PostgreSQL database.

use std::path::Path;
use std::sync::Arc;

use feedsync_server::configuration::StoreAddress;
use feedsync_store::{
    EndpointName, PostgresStore, SqliteStore, StoreError, SystemEnvironment, Transfer,
};

use crate::failure::Failure;

/// Environment variable that names a store.
pub(crate) const VARIABLE: &str = "FEEDSYNC_STORE";

/// An open store with the operations of its kind.
#[derive(Clone)]
pub(crate) enum OpenStore {
    Sqlite(Arc<SqliteStore>),
    Postgres(Arc<PostgresStore>),
}

impl OpenStore {
    /// Opens the store at an address; `None` if it is not initialised.
    pub(crate) async fn open(address: &StoreAddress) -> Result<Option<Self>, StoreError> {
        let environment = Arc::new(SystemEnvironment);
        match address {
            StoreAddress::Sqlite(directory) if !SqliteStore::exists(directory) => Ok(None),
            StoreAddress::Sqlite(directory) => {
                let store = SqliteStore::open(directory, environment)?;
                Ok(Some(Self::Sqlite(Arc::new(store))))
            }
            StoreAddress::Postgres(url) => match PostgresStore::open(url, environment).await {
                Ok(store) => Ok(Some(Self::Postgres(Arc::new(store)))),
                Err(StoreError::Place { .. }) if !PostgresStore::exists(url).await? => Ok(None),
                Err(error) => Err(error),
            },
        }
    }

    /// Creates a new endpoint at an address without one.
    pub(crate) async fn init(
        address: &StoreAddress,
        name: &EndpointName,
    ) -> Result<Self, StoreError> {
        let environment = Arc::new(SystemEnvironment);
        Ok(match address {
            StoreAddress::Sqlite(directory) => {
                Self::Sqlite(Arc::new(SqliteStore::init(directory, name, environment)?))
            }
            StoreAddress::Postgres(url) => {
                Self::Postgres(Arc::new(PostgresStore::init(url, name, environment).await?))
            }
        })
    }

    /// Returns the store through the interface that all kinds share.
    pub(crate) fn store(&self) -> Arc<dyn Transfer> {
        match self {
            Self::Sqlite(store) => Arc::clone(store) as _,
            Self::Postgres(store) => Arc::clone(store) as _,
        }
    }
}

/// Parses the address of a store from an option. Error messages never repeat the value, since it may contain
/// a password. An address with a password is refused, because every user of the machine can read command
/// lines.
pub(crate) fn named(option: &str, text: &str) -> Result<StoreAddress, Failure> {
    let address = text
        .parse::<StoreAddress>()
        .map_err(|error| Failure::usage(format!("{option}: {error}")))?;
    if address.has_password() {
        let message = format!("{option} holds a password, which others on this machine could read");
        return Err(Failure::usage(message).hint(format!(
            "keep it in ~/.pgpass or PGPASSWORD, or the whole address in {VARIABLE}"
        )));
    }
    Ok(address)
}

/// Address of a store for messages: the directory, or the database without its password.
pub(crate) fn shown(address: &StoreAddress) -> String {
    match address {
        StoreAddress::Sqlite(directory) => directory.display().to_string(),
        StoreAddress::Postgres(_) => address.to_string(),
    }
}

/// Directory of a store; `None` for a database.
pub(crate) fn directory(address: &StoreAddress) -> Option<&Path> {
    match address {
        StoreAddress::Sqlite(directory) => Some(directory),
        StoreAddress::Postgres(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_holds_no_password_and_is_not_repeated() {
        for wrong in [
            "postgres://anna:geheim@db/hub",
            "postgres://anna@db/hub?password=geheim",
            "postgres://db/hub?user=anna&%70assword=geheim",
            "mysql://anna:geheim@db/hub",
            "geheim",
        ] {
            let Err(Failure::Message { code, message, hint, .. }) = named("--store", wrong) else {
                panic!("{wrong}")
            };
            assert_eq!(code, 2);
            assert!(!format!("{message} {hint:?}").contains("geheim"), "{message}");
        }
        let database = named("--store", "postgres://anna@db:6432/hub?sslmode=require").unwrap();
        assert_eq!(shown(&database), "postgres://anna@db:6432/hub");
        assert_eq!(shown(&named("--store", "sqlite:/srv/hub").unwrap()), "/srv/hub");
    }
}
