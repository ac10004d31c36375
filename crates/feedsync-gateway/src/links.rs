//! Addresses in documents, as the origin writes them and as the gateway shows them in reverse mode.
//!
//! An address below a mount is shown below the name of the mount, and another address of the same origin below
//! `/https/example.org`. All other addresses stay. A shown address keeps the spelling of the part that is not
//! replaced. Where a spelling does not allow that, the whole address is appended to the gateway's:
//! `http://127.0.0.1:5023/https://example.org/feed`. The same happens to an address of the gateway in a document of
//! the origin. So [`Links::original`] returns each address byte for byte.

use std::borrow::Cow;
use std::fmt::Write as _;

use feedsync_bitsy::location::Location;
use feedsync_formats::{Notation, WrittenAddress};
use sha2::{Digest as _, Sha256};

use crate::target::{Mount, Reachable};

/// Maps the addresses in documents, one by one.
pub(crate) trait AddressMap {
    /// Returns the address that an application gets instead of the server's, or `None` if it stays.
    fn shown(&self, address: WrittenAddress<'_>) -> Option<String>;

    /// Returns the server's address for one that an application sends, or `None` if it stays.
    fn original(&self, address: WrittenAddress<'_>) -> Option<String>;
}

/// Number of the rules in this module. Other rules give other documents, which need other entity tags.
const RULES: &str = "1";

/// End of a shown address whose original has no path. Relative references resolve against both alike, and requests
/// have no fragment.
const NO_PATH: &str = "#";

/// Maps the addresses in the documents of one origin.
#[derive(Debug, Clone)]
pub(crate) struct Links {
    /// Address of the gateway with a slash at its end, as the application names it.
    gateway: String,
    /// An address of the origin.
    origin: Location,
    reachable: Reachable,
}

impl Links {
    /// Creates the map for the origin of an address, and for a gateway that the application names `host`.
    pub(crate) fn new(host: &str, origin: Location, reachable: Reachable) -> Self {
        Self { gateway: format!("http://{host}/"), origin, reachable }
    }

    /// Mark of the rules and mounts that determine the shown addresses, for entity tags: eight hexadecimal digits.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hash = Sha256::new_with_prefix(RULES);
        for mount in self.reachable.mounts() {
            hash.update(format!("\n{}={}", mount.name(), mount.base()));
        }
        let digest = hash.finalize();
        digest[..4].iter().fold(String::new(), |mut hex, byte| {
            // Writing to a string never fails.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// Whether an address leads through the gateway.
    fn leads(&self, location: &Location) -> bool {
        location.is_same_origin(&self.origin) || self.reachable.mount_of(location).is_some()
    }

    /// Replaces the beginning of an address, if it has a usual spelling.
    fn replaced(&self, address: WrittenAddress<'_>, location: &Location) -> Option<String> {
        let WrittenAddress { raw, notation } = address;
        let (slash, scheme, rest) = slashes(notation).into_iter().find_map(|slash| {
            let (scheme, rest) = raw.split_once(&format!(":{slash}{slash}"))?;
            matches!(scheme, "http" | "https").then_some((slash, scheme, rest))
        })?;
        let gateway = spelled(&self.gateway, notation, slash);
        if let Some(mount) = self.reachable.mount_of(location) {
            let base = spelled(mount.base().as_str(), notation, slash);
            let is_bare = is_root(mount) && base.strip_suffix(slash) == Some(raw);
            let below = if is_bare { Some(NO_PATH) } else { raw.strip_prefix(&*base) };
            if let Some(below) = below {
                return Some(format!("{gateway}{}{slash}{below}", mount.name()));
            }
        }
        let no_path = if rest.contains(DELIMITERS) { "" } else { &format!("{slash}{NO_PATH}") };
        Some(format!("{gateway}{scheme}{slash}{rest}{no_path}"))
    }
}

impl AddressMap for Links {
    fn shown(&self, address: WrittenAddress<'_>) -> Option<String> {
        let text = address.text();
        let location: Option<Location> = if is_absolute(&text) { text.parse().ok() } else { None };
        let leads = location.as_ref().filter(|location| self.leads(location));
        if let Some(shown) = leads.and_then(|location| self.replaced(address, location)) {
            let back = self.original(WrittenAddress { raw: &shown, ..address });
            if back.as_deref() == Some(address.raw) {
                return Some(shown);
            }
        }
        let is_ambiguous = || self.original(address).is_some();
        (leads.is_some() || is_ambiguous()).then(|| format!("{}{}", self.gateway, address.raw))
    }

    fn original(&self, address: WrittenAddress<'_>) -> Option<String> {
        let WrittenAddress { raw, notation } = address;
        let (slash, rest) = slashes(notation).into_iter().find_map(|slash| {
            Some((slash, raw.strip_prefix(&*spelled(&self.gateway, notation, slash))?))
        })?;
        if is_absolute(&WrittenAddress { raw: rest, notation }.text()) {
            return Some(rest.to_owned());
        }
        let (first, rest) = rest.split_once(slash)?;
        if let Some(mount) = self.reachable.mount(first) {
            let base = spelled(mount.base().as_str(), notation, slash);
            return Some(match rest == NO_PATH && is_root(mount) {
                true => base.strip_suffix(slash)?.to_owned(),
                false => format!("{base}{rest}"),
            });
        }
        if !matches!(first, "http" | "https") || rest.is_empty() || rest.starts_with(DELIMITERS) {
            return None;
        }
        let no_path = rest.strip_suffix(NO_PATH).and_then(|rest| rest.strip_suffix(slash));
        let rest = no_path.filter(|authority| !authority.contains(DELIMITERS)).unwrap_or(rest);
        Some(format!("{first}:{slash}{slash}{rest}"))
    }
}

/// Characters after the authority of an address.
const DELIMITERS: [char; 4] = ['/', '\\', '?', '#'];

/// Spellings of a slash that are replaced. Many programs write it with an escape in JSON.
pub(crate) fn slashes(notation: Notation) -> Vec<&'static str> {
    match notation {
        Notation::Json => vec!["\\/", "/"],
        Notation::Markup | Notation::CData => vec!["/"],
    }
}

/// An address in a notation. A valid address has neither quotes for attributes in `"` nor control characters.
pub(crate) fn spelled<'a>(address: &'a str, notation: Notation, slash: &str) -> Cow<'a, str> {
    match notation {
        Notation::Json if slash != "/" => Cow::Owned(address.replace('/', slash)),
        Notation::Markup if address.contains(['&', '\'']) => {
            Cow::Owned(address.replace('&', "&amp;").replace('\'', "&#39;"))
        }
        _ => Cow::Borrowed(address),
    }
}

/// Whether a text begins as an absolute address of the web does.
fn is_absolute(text: &str) -> bool {
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// Whether a mount is a whole origin.
fn is_root(mount: &Mount) -> bool {
    mount.base().as_str().strip_suffix('/') == Some(mount.base().origin())
}

#[cfg(test)]
mod tests;
