//! A short name for an origin, or for a part of one: `notes=https://example.org/notes/`.

use std::str::FromStr;

use feedsync_bitsy::location::{Location, LocationError};

use crate::target::authority::Authority;

/// A name and the base address that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    name: MountName,
    /// Base address, which ends with a slash.
    base: Location,
    authority: Authority,
}

/// First segment of a path: `[a-z][a-z0-9-]{0,31}`, except names with another meaning there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountName(String);

/// Error for a text that is not a mount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The text is not `NAME=URL`.
    #[error("{0:?} is not NAME=URL, such as notes=https://example.org/notes/")]
    Form(String),
    /// The name is invalid.
    #[error(
        "{0:?} is not a mount name: use up to 32 characters of a-z, 0-9 and -, a letter first, and \
         neither http nor https"
    )]
    Name(String),
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] LocationError),
    /// The address has a query, to which nothing can be appended.
    #[error("{0} has a query, so no addresses can be mounted below it")]
    Query(Location),
}

impl Mount {
    /// Creates a mount; a slash is appended to the address if it has none.
    pub fn new(name: MountName, url: &str) -> Result<Self, MountError> {
        let base: Location = url.parse()?;
        if base.as_str().contains('?') {
            return Err(MountError::Query(base));
        }
        let base = match base.as_str().ends_with('/') {
            true => base,
            false => format!("{base}/").parse()?,
        };
        Ok(Self { name, authority: Authority::of(&base), base })
    }

    /// Name of the mount.
    pub fn name(&self) -> &str {
        &self.name.0
    }

    /// Base address, which ends with a slash.
    pub fn base(&self) -> &Location {
        &self.base
    }

    /// Authority that the mount makes reachable.
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }
}

impl FromStr for MountName {
    type Err = MountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let letter = text.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
        let rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let taken = matches!(text, "http" | "https");
        if !letter || text.len() > 32 || !text.bytes().all(rest) || taken {
            return Err(MountError::Name(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for Mount {
    type Err = MountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, url) = text.split_once('=').ok_or_else(|| MountError::Form(text.to_owned()))?;
        Self::new(name.parse()?, url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_a_name_and_an_address_with_a_slash_at_its_end() {
        let mount: Mount = "notes=https://Example.org/notes".parse().unwrap();
        assert_eq!(mount.name(), "notes");
        assert_eq!(mount.base().as_str(), "https://example.org/notes/");
    }

    #[test]
    fn invalid_mounts_are_rejected() {
        for text in
            ["notes", "=http://a/", "http=http://a/", "https=http://a/", ".well-known=http://a/"]
        {
            assert!(text.parse::<Mount>().is_err(), "{text}");
        }
        for text in
            ["Notes=http://a/", "1=http://a/", "n_=http://a/", "n=ftp://a/", "n=http://a/?q"]
        {
            assert!(text.parse::<Mount>().is_err(), "{text}");
        }
        assert!(format!("{}=http://a/", "n".repeat(32)).parse::<Mount>().is_ok());
        assert!(format!("{}=http://a/", "n".repeat(33)).parse::<Mount>().is_err());
    }
}
