//! From a request of an application to the origin's address, in the two ways that applications ask.
//!
//! - Reverse: `/<scheme>/<authority>/<path>`, and `/<name>/<path>` below a mount. `Host` must be the
//!   gateway's own.
//! - Forward: the absolute form that is spoken to a proxy (RFC 9112 3.2.2), for `http`; `https` comes
//!   through a tunnel, which is not read.
//!
//! Only authorities that are mounted, subscribed or allowed are reached ([`Reachable`]).

mod allowed;
mod authority;
mod mount;
mod newsreader;
mod own;
mod reachable;

use std::net::SocketAddr;

use feedsync_offline::location::{Location, LocationError};
use http::uri::{self, PathAndQuery};
use http::{HeaderMap, Uri, header};

pub use allowed::Allowed;
pub use authority::{Authority, AuthorityError};
pub use mount::{Mount, MountError, MountName};
pub use newsreader::{Newsreader, NewsreaderError};
pub use own::Own;
pub use reachable::{Access, Reachable};
pub(crate) use reachable::{is_local, is_near};

/// What a request of an application is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The address of the resource, in the spelling by which it is known.
    pub location: Location,
    /// How the application asked.
    pub mode: Mode,
    /// Path and query in the spelling of the application, which is what the origin is sent (RFC 9110 7.7).
    pub path: PathAndQuery,
}

/// How an application asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// The gateway stands for the origin.
    Reverse {
        /// What stands before the origin's own path: `/https/example.org` or the name of a mount, `/notes`.
        prefix: String,
        /// The gateway as the application names it: `127.0.0.1:5023`.
        host: uri::Authority,
    },
    /// The gateway is the application's proxy.
    Forward,
}

/// Why a request means no origin that is reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The path names no origin.
    #[error(
        "{0:?} names no origin: ask for /https/example.org/path, or for /NAME/path where NAME is mounted"
    )]
    NoOrigin(String),
    /// It names a mount or an origin without the slash with which its addresses begin, as this one does.
    #[error("it is at {0}")]
    Unslashed(String),
    /// It names something that is no authority.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// It names something that is no address.
    #[error(transparent)]
    Location(#[from] LocationError),
    /// The path goes up, perhaps out of what its first part names.
    #[error("the path has a segment . or .., which an address of the gateway cannot have")]
    Segments,
    /// The form of the request is for something else.
    #[error("this form of address is for CONNECT only")]
    Form,
    /// `https` in absolute form: the proxy would read what is meant to be secret from it.
    #[error("https is not spoken to a proxy in the open: use CONNECT, or ask for {0}")]
    Secure(String),
    /// No `Host`, more than one, or one that is none.
    #[error("a request has one Host, which is a host")]
    Host,
    /// A `Host` that is not the gateway's.
    #[error("the gateway does not answer for {0}: it is reached as localhost or by its address")]
    ForeignHost(String),
    /// An authority that nobody named.
    #[error(
        "{authority} is not reached through this gateway: start it with --allow {hint}, mount the \
         origin, or subscribe to a feed of it"
    )]
    NotReachable {
        /// The authority.
        authority: Authority,
        /// What would allow it.
        hint: String,
    },
    /// A tunnel to a port that nobody named.
    #[error(
        "a tunnel leads to port 443 only, or to one that is named: start the gateway with --allow {0}"
    )]
    TunnelPort(Authority),
    /// The gateway itself.
    #[error("{0} is the gateway itself")]
    Loop(Authority),
}

/// Who reads addresses: what is reached, and who the gateway itself is.
#[derive(Debug, Clone, Default)]
pub struct Addresses {
    /// What is reached.
    pub reachable: Reachable,
    /// The gateway itself.
    pub own: Own,
}

impl Addresses {
    /// What a request is about, which came to `came_to`. Not for `CONNECT`.
    pub fn target(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        came_to: Option<SocketAddr>,
    ) -> Result<Target, TargetError> {
        let named = host(headers)?;
        let Some(scheme) = uri.scheme_str() else {
            if uri.authority().is_some() {
                return Err(TargetError::Form);
            }
            let host = named.ok_or(TargetError::Host)?;
            return self.reverse(uri, host, came_to);
        };
        let written = uri.authority().ok_or(TargetError::Form)?;
        let authority =
            Authority::parse(written.as_str(), if scheme == "https" { 443 } else { 80 })?;
        // An application that knows the gateway as its proxy and as an origin asks it so (RFC 9112 3.2.2).
        if scheme == "http" && self.own.names(&authority) {
            return self.reverse(uri, written.clone(), came_to);
        }
        if scheme == "https" {
            let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
            return Err(TargetError::Secure(format!("/https/{written}{path}")));
        }
        let path = uri.path_and_query().cloned().ok_or(TargetError::Form)?;
        let location = self.location(scheme, &authority, path.as_str())?;
        Ok(Target { location, mode: Mode::Forward, path })
    }

    /// Where a tunnel leads.
    pub fn tunnel(&self, uri: &Uri) -> Result<Authority, TargetError> {
        let written =
            uri.authority().filter(|_| uri.scheme().is_none()).ok_or(TargetError::Form)?;
        let authority: Authority = written.as_str().parse()?;
        if self.own.names(&authority) {
            return Err(TargetError::Loop(authority));
        }
        match self.reachable.tunnel(&authority) {
            Some(_) => Ok(authority),
            None if self.reachable.access(&authority).is_some() => {
                Err(TargetError::TunnelPort(authority))
            }
            None => Err(not_reachable(authority)),
        }
    }

    /// What an address of the gateway stands for, by its path and query.
    pub fn meant_by(&self, path: &str) -> Result<(Location, String), TargetError> {
        let no_origin = || TargetError::NoOrigin(path.to_owned());
        let rest = path.strip_prefix('/').ok_or_else(no_origin)?;
        if has_dots(rest.split(['?', '#']).next().unwrap_or(rest)) {
            return Err(TargetError::Segments);
        }
        let (first, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let mount = self.reachable.mount(first);
        let Some(rest) = rest.strip_prefix('/') else {
            return Err(match mount {
                Some(_) => TargetError::Unslashed(format!("/{first}/{rest}")),
                None => no_origin(),
            });
        };
        if let Some(mount) = mount {
            let location: Location = format!("{}{rest}", mount.base()).parse()?;
            return Ok((location, format!("/{first}")));
        }
        if !matches!(first, "http" | "https") {
            return Err(no_origin());
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (written, rest) = rest.split_at(end);
        let authority = Authority::parse(written, if first == "https" { 443 } else { 80 })?;
        if !rest.starts_with('/') {
            self.location(first, &authority, "/")?;
            return Err(TargetError::Unslashed(format!("/{first}/{written}/{rest}")));
        }
        let location = self.location(first, &authority, rest)?;
        Ok((location, format!("/{first}/{written}")))
    }

    /// The path at the gateway by which an address is asked for, if its authority is reached.
    pub fn path_of(&self, location: &Location) -> Option<String> {
        self.reachable.access(&Authority::of(location))?;
        if let Some(mount) = self.reachable.mount_of(location) {
            let rest = location.as_str().strip_prefix(mount.base().as_str())?;
            return Some(format!("/{}/{rest}", mount.name()));
        }
        Some(format!("/{}", location.as_str().replacen("://", "/", 1)))
    }

    fn reverse(
        &self,
        uri: &Uri,
        host: uri::Authority,
        came_to: Option<SocketAddr>,
    ) -> Result<Target, TargetError> {
        if !Own::is_host(&host, came_to) {
            return Err(TargetError::ForeignHost(host.to_string()));
        }
        let written = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let (location, prefix) = self.meant_by(written)?;
        let below = written.strip_prefix(prefix.as_str()).unwrap_or_default();
        let path = match self.reachable.mount(prefix.trim_start_matches('/')) {
            Some(mount) => {
                let base = mount.base().as_str().strip_prefix(mount.base().origin());
                format!("{}{}", base.unwrap_or("/"), below.strip_prefix('/').unwrap_or(below))
            }
            None => below.to_owned(),
        };
        let path = path.parse().map_err(|_| TargetError::NoOrigin(written.to_owned()))?;
        Ok(Target { location, mode: Mode::Reverse { prefix, host }, path })
    }

    /// An address of an authority that is reached. What is appended cannot lead to another one.
    fn location(
        &self,
        scheme: &str,
        authority: &Authority,
        path: &str,
    ) -> Result<Location, TargetError> {
        if self.own.names(authority) {
            return Err(TargetError::Loop(authority.clone()));
        }
        if self.reachable.access(authority).is_none() {
            return Err(not_reachable(authority.clone()));
        }
        let location: Location = format!("{scheme}://{authority}{path}").parse()?;
        match Authority::of(&location) == *authority {
            true => Ok(location),
            false => Err(AuthorityError(authority.to_string()).into()),
        }
    }
}

fn not_reachable(authority: Authority) -> TargetError {
    let usual = matches!(authority.port(), 80 | 443);
    let hint = if usual { authority.host().to_string() } else { authority.to_string() };
    TargetError::NotReachable { authority, hint }
}

/// Whether a request is for an address of the gateway, whatever that stands for.
pub(crate) fn is_reverse(uri: &Uri, headers: &HeaderMap, came_to: Option<SocketAddr>) -> bool {
    let named = host(headers).ok().flatten();
    uri.authority().is_none() && named.is_some_and(|host| Own::is_host(&host, came_to))
}

/// The one `Host` of a request (RFC 9112 3.2), in lower case; HTTP/1.0 may have none.
fn host(headers: &HeaderMap) -> Result<Option<uri::Authority>, TargetError> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(value), None) = (hosts.next(), hosts.next()) else {
        let none = !headers.contains_key(header::HOST);
        return if none { Ok(None) } else { Err(TargetError::Host) };
    };
    let text = value.to_str().map_err(|_| TargetError::Host)?.to_ascii_lowercase();
    let host: uri::Authority = text.parse().map_err(|_| TargetError::Host)?;
    authority::host_and_port(host.as_str()).map_err(|_| TargetError::Host)?;
    Ok(Some(host))
}

/// Whether a path has segments that go up, as anybody may understand them: `%2e` is a dot, and `\` a
/// slash to some (WHATWG URL).
fn has_dots(path: &str) -> bool {
    path.split(['/', '\\']).filter(|segment| segment.len() <= "%2e%2e".len()).any(|segment| {
        let plain = segment.replace("%2e", ".").replace("%2E", ".");
        plain == "." || plain == ".."
    })
}

/// Path and query of an address, as it is asked for.
pub(crate) fn path_of(location: &Location) -> PathAndQuery {
    let text = &location.as_str()[location.origin().len()..];
    // An address that a location has is one that a request may have.
    text.parse().unwrap_or_else(|_| PathAndQuery::from_static("/"))
}

/// What the `Host` of a request to an address says: the port only if it is not the usual one.
pub(crate) fn host_of(location: &Location) -> &str {
    location.origin().split_once("://").map_or("", |(_, host)| host)
}

impl Target {
    /// The same for another address; for its own in the spelling of the application.
    pub(crate) fn at(&self, location: &Location) -> Self {
        if *location == self.location {
            return self.clone();
        }
        let (location, mode) = (location.clone(), self.mode.clone());
        Self { path: path_of(&location), location, mode }
    }

    /// What the `Host` of the request to the origin says: the port only if it is not the usual one.
    pub fn host(&self) -> &str {
        host_of(&self.location)
    }
}

#[cfg(test)]
mod tests;
