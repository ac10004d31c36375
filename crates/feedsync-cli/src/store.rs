//! Stores by their address: SQLite in a directory, or a PostgreSQL database.

use std::path::Path;
use std::sync::Arc;

use feedsync_server::configuration::StoreAddress;
use feedsync_store::{
    EndpointName, PostgresStore, SqliteStore, StoreError, SystemEnvironment, Transfer,
};

use crate::failure::Failure;

/// The variable that names a store.
pub(crate) const VARIABLE: &str = "FEEDSYNC_STORE";

/// An open store, as what only its kind can do.
#[derive(Clone)]
pub(crate) enum Opened {
    Sqlite(Arc<SqliteStore>),
    Postgres(Arc<PostgresStore>),
}

impl Opened {
    /// Opens the store at an address; none if nobody has initialised it.
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

    /// Makes a new endpoint at an address that has none.
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

    /// The store, as every kind is.
    pub(crate) fn store(&self) -> Arc<dyn Transfer> {
        match self {
            Self::Sqlite(store) => Arc::clone(store) as _,
            Self::Postgres(store) => Arc::clone(store) as _,
        }
    }
}

/// Reads an address that a person gives as an option. What it holds is never repeated, since it may be a
/// password; and one that has a password must not be an option, which everybody on the machine can read.
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

/// Where a store is, as people are told: the directory, or the database without its password.
pub(crate) fn shown(address: &StoreAddress) -> String {
    match address {
        StoreAddress::Sqlite(directory) => directory.display().to_string(),
        StoreAddress::Postgres(_) => address.to_string(),
    }
}

/// The directory of a store that has one.
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
            let Err(Failure::Said { code, message, hint, .. }) = named("--store", wrong) else {
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
