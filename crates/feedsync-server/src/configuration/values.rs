//! Values of settings that have a rule of their own.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Declares an enum whose values are written by their names.
macro_rules! named {
    (
        $(#[$doc:meta])* $kind:ident, $error:ident, $names:literal:
        $( $(#[$value_doc:meta])* $value:ident = $name:literal, )*
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind {
            $( $(#[$value_doc])* $value, )*
        }

        /// A text that is none of the names.
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        #[error("{text:?} is not one: {names}", text = .0, names = $names)]
        pub struct $error(String);

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $( Self::$value => $name, )* })
            }
        }

        impl FromStr for $kind {
            type Err = $error;
            fn from_str(text: &str) -> Result<Self, $error> {
                match text {
                    $( $name => Ok(Self::$value), )*
                    _ => Err($error(text.to_owned())),
                }
            }
        }
    };
}

named! {
    /// How the log is written.
    LogFormat, LogFormatError, "text or json":
    /// For people.
    Text = "text",
    /// One JSON object a line.
    Json = "json",
}

named! {
    /// Who may read what tells about the hub and about nobody's items.
    Audience, AudienceError, "administrators or public":
    /// Who may administer the hub.
    Administrators = "administrators",
    /// Everybody.
    Public = "public",
}

named! {
    /// How proxies say for whom they ask.
    ForwardedBy, ForwardedByError, "x-forwarded or forwarded":
    /// By `X-Forwarded-For` and `X-Forwarded-Proto`.
    XForwarded = "x-forwarded",
    /// By `Forwarded` (RFC 7239).
    Forwarded = "forwarded",
}

/// What the log tells: levels, of everything or of parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level(String);

/// A text that says no levels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none: error, warn, info, debug, trace or off, or PART=LEVEL, between commas")]
pub struct LevelError(String);

impl Default for Level {
    fn default() -> Self {
        Self("info".to_owned())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Level {
    type Err = LevelError;
    fn from_str(text: &str) -> Result<Self, LevelError> {
        let is_level =
            |text: &str| ["off", "error", "warn", "info", "debug", "trace"].contains(&text);
        let is_part = |text: &str| {
            let named =
                |character: char| character.is_ascii_alphanumeric() || "_:".contains(character);
            !text.is_empty() && text.chars().all(named)
        };
        let is_directive = |text: &str| match text.split_once('=') {
            Some((part, level)) => is_part(part) && is_level(level),
            None => is_level(text),
        };
        if text.split(',').all(|text| is_directive(text.trim())) {
            Ok(Self(text.replace(' ', "")))
        } else {
            Err(LevelError(text.to_owned()))
        }
    }
}

/// Where everything is kept.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// SQLite in a directory.
    Sqlite(PathBuf),
    /// A PostgreSQL database, by its URL, which may hold a password.
    Postgres(String),
}

impl StoreAddress {
    /// Whether it holds a password.
    pub fn has_password(&self) -> bool {
        let Self::Postgres(url) = self else { return false };
        let (rest, parameters) = url.split_once('?').unwrap_or((url, ""));
        let of_user = rest.rsplit_once('@').is_some_and(|(user, _)| {
            user.split_once("://").is_some_and(|(_, user)| user.contains(':'))
        });
        // Whatever is escaped there may be its name.
        let named = |parameter: &str| {
            let name = parameter.split('=').next().unwrap_or_default();
            name.eq_ignore_ascii_case("password") || name.contains('%')
        };
        of_user || parameters.split('&').any(named)
    }
}

/// A text that names no store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it names no store: sqlite:DIRECTORY or postgres://USER@HOST/DATABASE")]
pub struct StoreAddressError;

impl fmt::Display for StoreAddress {
    /// Without a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(directory) => write!(f, "sqlite:{}", directory.display()),
            Self::Postgres(url) => {
                // Parameters may hold a password too.
                let url = url.split(['?', '#']).next().unwrap_or_default();
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
                match rest.rsplit_once('@') {
                    Some((user, host)) => {
                        let user = user.split(':').next().unwrap_or_default();
                        write!(f, "{scheme}://{user}@{host}")
                    }
                    None => write!(f, "{scheme}://{rest}"),
                }
            }
        }
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for StoreAddress {
    type Err = StoreAddressError;
    fn from_str(text: &str) -> Result<Self, StoreAddressError> {
        if let Some(directory) = text.strip_prefix("sqlite:").filter(|text| !text.is_empty()) {
            return Ok(Self::Sqlite(PathBuf::from(directory)));
        }
        let of_postgres = ["postgres://", "postgresql://"];
        match of_postgres.iter().find_map(|scheme| text.strip_prefix(scheme)) {
            Some(rest) if !rest.is_empty() => Ok(Self::Postgres(text.to_owned())),
            _ => Err(StoreAddressError),
        }
    }
}
