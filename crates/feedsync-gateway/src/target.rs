//! Maps a request of an application to the address of the origin, for both forms of requests.
//!
//! - Reverse: `/<scheme>/<authority>/<path>`, and `/<name>/<path>` below a mount. `Host` must be the gateway's
//!   own. `/<scheme>://<authority>/<path>` is the same, for addresses whose spelling must not change.
//! - Forward: the absolute form of proxy requests (RFC 9112 3.2.2), for `http`. `https` comes through a tunnel,
//!   which is not read, or is intercepted. Then the requests inside are those for its authority.
//!
//! Only authorities that are mounted, subscribed or allowed are reached ([`Reachable`]).

mod allowed;
mod authority;
mod mount;
mod newsreader;
mod own_addresses;
mod reachable;

use std::net::SocketAddr;

use feedsync_bitsy::location::{Location, LocationError};
use http::uri::{self, PathAndQuery};
use http::{HeaderMap, Uri, header};

pub use allowed::Allowed;
pub use authority::{Authority, AuthorityError};
pub use mount::{Mount, MountError, MountName};
pub use newsreader::{Newsreader, NewsreaderError};
pub use own_addresses::OwnAddresses;
pub use reachable::{Access, Reachable};
pub(crate) use reachable::{is_local, is_near};

/// Target of a request of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Normalised address of the resource.
    pub location: Location,
    /// Form of the request.
    pub mode: Mode,
    /// Path and query in the spelling of the application, which are sent to the origin (RFC 9110 7.7).
    pub path: PathAndQuery,
}

/// Form of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// The gateway stands for the origin.
    Reverse {
        /// Prefix before the origin's own path: `/https/example.org`, or the name of a mount such as `/notes`.
        prefix: String,
        /// The gateway as the application names it: `127.0.0.1:5023`.
        host: uri::Authority,
    },
    /// The gateway is the application's proxy.
    Forward,
}

/// Reason why a request has no reachable target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The path names no origin.
    #[error(
        "{0:?} does not name an origin: request /https/example.org/path, or /NAME/path with the \
         name of a mount"
    )]
    NoOrigin(String),
    /// The path names a mount or an origin without the slash of its base address; the value is the address with
    /// it.
    #[error("the address needs a slash at the end: {0}")]
    Unslashed(String),
    /// The path contains an address of the gateway itself; the value is the path of that address.
    #[error("the address is that of the gateway itself: {0}")]
    Nested(String),
    /// The path contains an invalid authority.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The path contains an invalid address.
    #[error(transparent)]
    Location(#[from] LocationError),
    /// The path has dot segments, which might lead out of its first part.
    #[error("the path has a segment . or .., which is not allowed in an address of the gateway")]
    Segments,
    /// The form of the request is reserved for another method.
    #[error("this form of address is only for CONNECT")]
    Form,
    /// `https` in absolute form, which would reveal to the proxy what is meant to be secret from it.
    #[error(
        "https addresses cannot be requested through a proxy in plain text: use CONNECT, or \
         request {0}"
    )]
    Secure(String),
    /// The request has no `Host`, more than one, or an invalid one.
    #[error("a request must have exactly one Host header with a valid host")]
    Host,
    /// The `Host` is not the gateway's.
    #[error("the gateway does not accept requests for the host {0}: use localhost or its address")]
    ForeignHost(String),
    /// The authority is not mounted, subscribed or allowed.
    #[error(
        "this gateway does not forward requests to {authority}: start it with --allow {hint}, \
         mount the origin, or subscribe to one of its feeds"
    )]
    NotReachable {
        /// The authority.
        authority: Authority,
        /// Setting that would allow it.
        hint: String,
    },
    /// The port of the tunnel is not allowed.
    #[error(
        "tunnels are allowed only to port 443 and to allowed ports: start the gateway with --allow \
         {0}"
    )]
    TunnelPort(Authority),
    /// The target is the gateway itself.
    #[error("{0} is the address of the gateway itself")]
    Loop(Authority),
    /// A request in an intercepted connection is for another authority than the connection.
    #[error("this connection is for https://{connected}, but the request is for {requested}")]
    Misdirected {
        /// Authority that the connection was requested for.
        connected: Authority,
        /// Address or host of the request.
        requested: String,
    },
}

/// Maps addresses, with the reachable authorities and the gateway's own addresses.
#[derive(Debug, Clone, Default)]
pub struct Addresses {
    /// Reachable authorities.
    pub reachable: Reachable,
    /// Own addresses of the gateway.
    pub own: OwnAddresses,
}

impl Addresses {
    /// Determines the target of a request that arrived at `local_address`; not for `CONNECT`.
    pub fn target(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        local_address: Option<SocketAddr>,
    ) -> Result<Target, TargetError> {
        let named = host(headers)?;
        let Some(scheme) = uri.scheme_str() else {
            if uri.authority().is_some() {
                return Err(TargetError::Form);
            }
            let host = named.ok_or(TargetError::Host)?;
            return self.reverse(uri, host, local_address);
        };
        let written = uri.authority().ok_or(TargetError::Form)?;
        let authority =
            Authority::parse(written.as_str(), if scheme == "https" { 443 } else { 80 })?;
        // Applications that use the gateway both as their proxy and as an origin send this form (RFC 9112 3.2.2).
        if scheme == "http" && self.own.names(&authority) {
            return self.reverse(uri, written.clone(), local_address);
        }
        if scheme == "https" {
            let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
            return Err(TargetError::Secure(format!("/https/{written}{path}")));
        }
        let path = uri.path_and_query().cloned().ok_or(TargetError::Form)?;
        let location = self.location(scheme, &authority, path.as_str())?;
        Ok(Target { location, mode: Mode::Forward, path })
    }

    /// Determines the target of a request in an intercepted connection, which was requested for an authority.
    pub fn inside(
        &self,
        connected: &Authority,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Target, TargetError> {
        let path = uri.path_and_query().cloned().ok_or(TargetError::Form)?;
        let misdirected = |requested: String| {
            let connected = connected.clone();
            TargetError::Misdirected { connected, requested }
        };
        match (uri.scheme_str(), uri.authority()) {
            (None, None) => {}
            // A server must accept the absolute form, too (RFC 9112 3.2.2).
            (Some("https"), Some(authority))
                if Authority::parse(authority.as_str(), 443)? == *connected => {}
            (Some(_), _) => return Err(misdirected(uri.to_string())),
            (None, Some(_)) => return Err(TargetError::Form),
        }
        if let Some(host) = host(headers)?
            && Authority::parse(host.as_str(), 443)? != *connected
        {
            return Err(misdirected(host.to_string()));
        }
        let location = self.location("https", connected, path.as_str())?;
        Ok(Target { location, mode: Mode::Forward, path })
    }

    /// Determines the authority of a tunnel.
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

    /// Resolves the path and query of a gateway address to the original address and the prefix.
    pub fn resolve_path(&self, path: &str) -> Result<(Location, String), TargetError> {
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
        let (scheme, slash, rest) = match (first, first.strip_suffix(':'), rest.strip_prefix('/')) {
            ("http" | "https", ..) => (first.to_owned(), "", rest),
            (_, Some(scheme), Some(rest)) => (scheme.to_ascii_lowercase(), "/", rest),
            _ => return Err(no_origin()),
        };
        if !matches!(&*scheme, "http" | "https") {
            return Err(no_origin());
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (written, rest) = rest.split_at(end);
        let authority = Authority::parse(written, if scheme == "https" { 443 } else { 80 })?;
        // Documents contain such addresses. Two slashes at the start would lead to another host.
        if !slash.is_empty() && scheme == "http" && self.own.names(&authority) {
            return Err(TargetError::Nested(format!("/{}", rest.trim_start_matches('/'))));
        }
        let prefix = format!("/{first}/{slash}{written}");
        if !rest.starts_with('/') {
            self.location(&scheme, &authority, "/")?;
            return Err(TargetError::Unslashed(format!("{prefix}/{rest}")));
        }
        let location = self.location(&scheme, &authority, rest)?;
        Ok((location, prefix))
    }

    /// Path at the gateway for an address, if its authority is reachable.
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
        local_address: Option<SocketAddr>,
    ) -> Result<Target, TargetError> {
        if !OwnAddresses::is_host(&host, local_address) {
            return Err(TargetError::ForeignHost(host.to_string()));
        }
        let written = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let (location, prefix) = self.resolve_path(written)?;
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

    /// Builds an address of a reachable authority. The appended path cannot change the authority.
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

/// Whether a request names an address of the gateway, independent of its target.
pub(crate) fn is_reverse(
    uri: &Uri,
    headers: &HeaderMap,
    local_address: Option<SocketAddr>,
) -> bool {
    let named = host(headers).ok().flatten();
    uri.authority().is_none()
        && named.is_some_and(|host| OwnAddresses::is_host(&host, local_address))
}

/// The single `Host` of a request (RFC 9112 3.2), in lower case; HTTP/1.0 allows none.
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

/// Whether a path has dot segments in any interpretation: `%2e` is a dot, and `\` is a slash to some parsers
/// (WHATWG URL).
fn has_dots(path: &str) -> bool {
    path.split(['/', '\\']).filter(|segment| segment.len() <= "%2e%2e".len()).any(|segment| {
        let plain = segment.replace("%2e", ".").replace("%2E", ".");
        plain == "." || plain == ".."
    })
}

/// Path and query of an address, for a request.
pub(crate) fn path_of(location: &Location) -> PathAndQuery {
    let text = &location.as_str()[location.origin().len()..];
    // The path of a valid location is always valid in a request.
    text.parse().unwrap_or_else(|_| PathAndQuery::from_static("/"))
}

/// Value of `Host` for an address; it has a port only if that is not the default.
pub(crate) fn host_of(location: &Location) -> &str {
    location.origin().split_once("://").map_or("", |(_, host)| host)
}

impl Target {
    /// Returns the target for another address. The path keeps the application's spelling if the address is the
    /// same.
    pub(crate) fn at(&self, location: &Location) -> Self {
        if *location == self.location {
            return self.clone();
        }
        let (location, mode) = (location.clone(), self.mode.clone());
        Self { path: path_of(&location), location, mode }
    }

    /// Value of `Host` for the origin; it has a port only if that is not the default.
    pub fn host(&self) -> &str {
        host_of(&self.location)
    }
}

#[cfg(test)]
mod tests;
