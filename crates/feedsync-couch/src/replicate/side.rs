//! Source and target of a requested replication.

use std::fmt;

use feedsync_formats::json::{Kind, Node};

use super::bad;
use crate::json::text;
use crate::name::DatabaseName;
use crate::refusal::Refusal;

/// A database that takes part in a replication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplicationSide {
    /// A database of the hub.
    Local(DatabaseName),
    /// A database of a server.
    Remote(RemoteAddress),
}

/// Address of a database of a server, with secrets. `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteAddress {
    /// Address, which may contain credentials.
    pub url: String,
    /// User name and password.
    pub credentials: Option<(String, String)>,
    /// Headers of each request.
    pub headers: Vec<(String, String)>,
}

impl fmt::Debug for RemoteAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteAddress").finish_non_exhaustive()
    }
}

impl ReplicationSide {
    /// Parses the member `source` or `target`.
    pub(super) fn read(name: &str, sent: Node<'_>) -> Result<Self, Refusal> {
        if let Some(url) = text(sent) {
            return Self::of(url.into_owned(), None, Vec::new());
        }
        if sent.kind() != Kind::Object {
            return Err(bad(format!("{name} must be a string or an object")));
        }
        check_members(name, sent, &["url", "auth", "headers"])?;
        let url = sent.member("url").and_then(|url| text(url.value));
        let url = url.ok_or_else(|| bad(format!("{name}.url must be a string")))?.into_owned();
        let auth = sent.member("auth").map(|auth| credentials(name, auth.value));
        let headers = sent.member("headers").map(|headers| read_headers(name, headers.value));
        Self::of(url, auth.transpose()?, headers.transpose()?.unwrap_or_default())
    }

    fn of(
        url: String,
        credentials: Option<(String, String)>,
        headers: Vec<(String, String)>,
    ) -> Result<Self, Refusal> {
        match url.contains("://") {
            true => Ok(Self::Remote(RemoteAddress { url, credentials, headers })),
            false if credentials.is_some() || !headers.is_empty() => Err(bad(
                "auth and headers are only for an address that begins with https:// or http://",
            )),
            false => Ok(Self::Local(url.parse()?)),
        }
    }
}

fn check_members(name: &str, sent: Node<'_>, known: &[&str]) -> Result<(), Refusal> {
    match sent.members().find(|member| !known.contains(&&*member.name)) {
        Some(member) => Err(bad(format!("Unknown member {} of {name}", member.name))),
        None => Ok(()),
    }
}

fn credentials(name: &str, auth: Node<'_>) -> Result<(String, String), Refusal> {
    let wrong = || bad(format!("{name}.auth.basic must have a username and a password"));
    check_members(name, auth, &["basic"])?;
    let basic = auth.member("basic").ok_or_else(wrong)?.value;
    check_members(name, basic, &["username", "password"])?;
    let of = |key: &str| Some(text(basic.member(key)?.value)?.into_owned());
    of("username").zip(of("password")).ok_or_else(wrong)
}

fn read_headers(name: &str, headers: Node<'_>) -> Result<Vec<(String, String)>, Refusal> {
    let wrong = || bad(format!("{name}.headers must be an object of strings"));
    if headers.kind() != Kind::Object {
        return Err(wrong());
    }
    let pairs = headers.members().map(|header| {
        let value = text(header.value).ok_or_else(wrong)?;
        Ok((header.name.into_owned(), value.into_owned()))
    });
    pairs.collect()
}
