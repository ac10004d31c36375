//! Types of settings with rules of their own.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Declares an enum whose values are written by name.
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

        /// Error for a text that is none of the names.
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        #[error("invalid value {text:?}: use {names}", text = .0, names = $names)]
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
    /// Format of the log.
    LogFormat, LogFormatError, "text or json":
    /// For people.
    Text = "text",
    /// One JSON object a line.
    Json = "json",
}

named! {
    /// Readers of data about the hub that concerns no user's items.
    Audience, AudienceError, "administrators or public":
    /// Administrators of the hub.
    Administrators = "administrators",
    /// Everyone.
    Public = "public",
}

named! {
    /// Whether something is done.
    Switch, SwitchError, "on or off":
    /// It is done.
    On = "on",
    /// It is not done.
    Off = "off",
}

named! {
    /// Audience that may add users through the database of users.
    UserRegistration, UserRegistrationError, "off, administrators or anyone":
    /// Nobody: the database cannot be used.
    Off = "off",
    /// Administrators of the hub.
    Administrators = "administrators",
    /// Everyone, for themselves.
    Anyone = "anyone",
}

named! {
    /// Header in which proxies name their client.
    ForwardedBy, ForwardedByError, "x-forwarded or forwarded":
    /// By `X-Forwarded-For` and `X-Forwarded-Proto`.
    XForwarded = "x-forwarded",
    /// By `Forwarded` (RFC 7239).
    Forwarded = "forwarded",
}

/// Levels of the log, for all parts or some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level(String);

/// Error for a text that is not a list of levels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a log level: use error, warn, info, debug, trace or off, or PART=LEVEL, \
     separated by commas"
)]
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

/// Address of the store.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// SQLite in a directory.
    Sqlite(PathBuf),
    /// A PostgreSQL database, by its URL, which may hold a password.
    Postgres(String),
}

impl StoreAddress {
    /// Whether it contains a password, or a text that may be one.
    pub fn has_password(&self) -> bool {
        let Self::Postgres(url) = self else { return false };
        let Some(parts) = Parts::of(url) else { return true };
        // The name of the parameter may be percent-encoded.
        let named = |parameter: &str| {
            let name = parameter.split('=').next().unwrap_or_default();
            name.eq_ignore_ascii_case("password") || name.contains('%')
        };
        parts.has_password || parts.parameters.split('&').any(named)
    }
}

/// Parts of a database URL, split by whether they may be shown.
struct Parts<'u> {
    scheme: &'u str,
    user: Option<&'u str>,
    has_password: bool,
    /// Hosts with their ports, and the database.
    place: &'u str,
    parameters: &'u str,
}

impl<'u> Parts<'u> {
    /// Credentials end at the first `@`, whatever they contain, as when connecting. Returns none if
    /// another part may be meant as the password: then nothing may be shown.
    fn of(url: &'u str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (credentials, rest) = match rest.split_once('@') {
            Some((_, rest)) if rest.contains('@') => return None,
            Some((credentials, rest)) => (Some(credentials), rest),
            None => (None, rest),
        };
        let (user, password) =
            match credentials.map(|text| text.split_once(':').unwrap_or((text, ""))) {
                Some((user, _)) if user.contains(['/', '?', '#']) => return None,
                Some((user, password)) => (Some(user), password),
                None => (None, ""),
            };
        let (place, parameters) = rest.split_once(['?', '#']).unwrap_or((rest, ""));
        let hosts = place.split('/').next().unwrap_or_default();
        let is_host = |host: &str| {
            let after = match host.strip_prefix('[') {
                Some(address) => address.split_once(']').map_or(":?", |(_, after)| after),
                None => host,
            };
            let port = after.split_once(':').map_or("", |(_, port)| port);
            port.bytes().all(|byte| byte.is_ascii_digit())
        };
        let parts = Self { scheme, user, has_password: !password.is_empty(), place, parameters };
        hosts.split(',').all(is_host).then_some(parts)
    }
}

/// Error for a text that is not the address of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the address of a store: use sqlite:DIRECTORY or postgres://USER@HOST/DATABASE")]
pub struct StoreAddressError;

impl fmt::Display for StoreAddress {
    /// Formats the address without its password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(directory) => write!(f, "sqlite:{}", directory.display()),
            Self::Postgres(url) => match Parts::of(url) {
                Some(Parts { scheme, user: Some(user), place, .. }) => {
                    write!(f, "{scheme}://{user}@{place}")
                }
                Some(Parts { scheme, place, .. }) => write!(f, "{scheme}://{place}"),
                None => f.write_str("postgres://..."),
            },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_shown_by_its_place_and_its_user() {
        for (url, shown, secret) in [
            ("postgres://db/hub", "postgres://db/hub", false),
            ("postgres://anna@db:6432/hub", "postgres://anna@db:6432/hub", false),
            ("postgresql://anna@a,b:1/hub?sslmode=require", "postgresql://anna@a,b:1/hub", false),
            ("postgres://anna@[::1]:5432/hub", "postgres://anna@[::1]:5432/hub", false),
            ("postgres://anna:x@db/hub", "postgres://anna@db/hub", true),
            ("postgres://anna@db/hub?a=b&Password=x", "postgres://anna@db/hub", true),
            ("postgres://anna@db/hub?pass%77ord=x", "postgres://anna@db/hub", true),
        ] {
            let address: StoreAddress = url.parse().unwrap();
            assert_eq!((&*address.to_string(), address.has_password()), (shown, secret), "{url}");
        }
    }

    #[test]
    fn no_password_is_shown_whatever_characters_are_in_it() {
        let awkward = (' '..='~').chain(['\u{e9}', '\t', '\u{2026}']);
        for character in awkward.filter(|character| !character.is_ascii_alphanumeric()) {
            let secret = format!("qx{character}zj{character}qx");
            for url in [
                format!("postgres://anna:{secret}@db/hub"),
                format!("postgres://anna:{secret}@db/hub?sslmode=require"),
                format!("postgres://:{secret}@db/hub"),
                format!("postgres://anna:{secret}"),
                format!("postgres://anna@db/hub?password={secret}"),
                format!("postgres://db/hub?user=anna&password={secret}#x"),
                format!("postgres://db/hub?password={secret}&application_name=a@b"),
                format!("postgres://a@db/hub?application_name=a@b&password={secret}"),
            ] {
                let address: StoreAddress = url.parse().unwrap();
                let shown = format!("{address} {address:?}");
                let told = ["qx", "zj"].iter().any(|part| shown.contains(part));
                assert!(!told, "{url} is shown as {shown}");
                assert!(address.has_password(), "{url}");
            }
        }
    }
}
