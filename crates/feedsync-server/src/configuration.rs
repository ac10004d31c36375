//! Sources of settings, by precedence: flags, environment, configuration file, defaults.
//!
//! Every setting of [`Config`] has one name, `limits.body_bytes`, from which its flag
//! (`--limits-body-bytes`), its environment variable (`FEEDSYNC_LIMITS_BODY_BYTES`) and its position
//! in the file follow. An unknown setting is refused, and the error names it and its position, so
//! that nobody relies on a limit that does not exist.

pub(crate) mod declare;
mod file;
pub(crate) mod kinds;
mod reference;
pub(crate) mod values;

use std::collections::BTreeMap;
use std::net::IpAddr;

use feedsync_endpoint::did_you_mean;

use crate::config::{Config, Limits, Log, Tls};

pub use reference::{as_toml, reference};
pub use values::{
    Audience, AudienceError, ForwardedBy, ForwardedByError, Level, LevelError, LogFormat,
    LogFormatError, StoreAddress, StoreAddressError, Switch, SwitchError, UserRegistration,
    UserRegistrationError,
};

/// One setting.
pub struct Setting {
    /// Its name, as in `limits.body_bytes`.
    pub name: &'static str,
    /// Description of its purpose, as one paragraph.
    pub doc: String,
    /// Syntax of its value.
    pub form: &'static str,
    pub(crate) read: fn(&mut Config, &RawValue) -> Result<(), String>,
    pub(crate) show: fn(&Config) -> String,
}

/// A value as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RawValue {
    /// One text, which may hold a list.
    Text(String),
    /// A list in the file.
    List(Vec<String>),
}

/// Sources of a configuration besides the defaults.
#[derive(Debug, Default)]
pub struct Sources {
    /// Name and text of the configuration file.
    pub file: Option<(String, String)>,
    /// Environment variables. Only those that name a setting are used.
    pub environment: Vec<(String, String)>,
    /// Names of settings and their values on the command line.
    pub flags: Vec<(String, String)>,
}

/// Error for a configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ConfigurationError {
    /// The file and line, the variable or the flag that caused the error.
    pub place: String,
    /// Description of the error.
    pub message: String,
}

/// All settings, in the order of the reference.
pub fn settings() -> Vec<Setting> {
    let mut settings = Config::settings();
    settings.extend(Tls::settings());
    settings.extend(Log::settings());
    settings.extend(Limits::settings());
    settings
}

/// Reads a configuration from its sources.
pub fn configure(sources: &Sources) -> Result<Config, ConfigurationError> {
    let settings: BTreeMap<_, _> =
        settings().into_iter().map(|setting| (setting.name, setting)).collect();
    let mut config = Config::default();
    let mut set = |place: String, name: &str, given: &RawValue| {
        let wrong = |message| ConfigurationError { place: place.clone(), message };
        let Some(setting) = settings.get(name) else {
            let near = did_you_mean(name, settings.keys().copied());
            return Err(wrong(format!("unknown setting {name:?}{near}")));
        };
        (setting.read)(&mut config, given)
            .map_err(|reason| wrong(format!("{name} must be {}: {reason}", setting.form)))
    };
    if let Some((file, text)) = &sources.file {
        for (line, name, given) in file::read(file, text)? {
            set(format!("{file}:{line}"), &name, &given)?;
        }
    }
    for (variable, value) in &sources.environment {
        let known = settings.keys().find(|name| self::variable(name) == *variable);
        match known {
            Some(name) => set(variable.clone(), name, &RawValue::Text(value.clone()))?,
            None if SECTIONS.iter().any(|section| variable.starts_with(section)) => {
                let variables: Vec<_> = settings.keys().map(|name| self::variable(name)).collect();
                let near = did_you_mean(variable, variables.iter().map(String::as_str));
                let message = format!("no setting belongs to this variable{near}");
                return Err(ConfigurationError { place: variable.clone(), message });
            }
            None => {}
        }
    }
    for (name, value) in &sources.flags {
        set(format!("--{}", flag(name)), name, &RawValue::Text(value.clone()))?;
    }
    config.check()?;
    Ok(config)
}

/// Prefixes of variables that can only mean a setting.
const SECTIONS: [&str; 3] = ["FEEDSYNC_LIMITS_", "FEEDSYNC_LOG_", "FEEDSYNC_TLS_"];

/// The environment variable of a setting.
pub fn variable(name: &str) -> String {
    format!("FEEDSYNC_{}", name.replace('.', "_").to_ascii_uppercase())
}

/// The flag of a setting, without its dashes.
pub fn flag(name: &str) -> String {
    name.replace(['.', '_'], "-")
}

impl Config {
    /// Checks rules that involve more than one setting.
    fn check(&self) -> Result<(), ConfigurationError> {
        let wrong = |place: &str, message: &str| {
            Err(ConfigurationError { place: place.to_owned(), message: message.to_owned() })
        };
        if self.listen.is_empty() {
            return wrong("listen", "at least one address is required");
        }
        if let Some(name) = self.tls.acme_names.iter().find(|name| !is_public_name(name)) {
            return wrong(
                "tls.acme_names",
                &format!("{name:?} is not a host name such as hub.example.org"),
            );
        }
        if self.tls.certificate.is_some() && !self.tls.acme_names.is_empty() {
            return wrong(
                "tls.acme_names",
                "tls.certificate is set, so tls.acme_names must not be set",
            );
        }
        match (&self.tls.certificate, &self.tls.key) {
            (Some(_), None) => {
                wrong("tls.key", "tls.certificate is set, so tls.key must be set too")
            }
            (None, Some(_)) => {
                wrong("tls.certificate", "tls.key is set, so tls.certificate must be set too")
            }
            _ => Ok(()),
        }
    }
}

/// Whether an authority can issue a certificate for a name: letters, digits and hyphens, with a dot, and no address.
fn is_public_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_known =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(is_known) && !label.starts_with('-')
    };
    name.contains('.') && name.split('.').all(is_label) && name.parse::<IpAddr>().is_err()
}

#[cfg(test)]
mod tests;
