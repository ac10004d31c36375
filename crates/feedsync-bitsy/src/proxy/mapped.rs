//! Mapping proxy: a proxy that forwards requests below a prefix to another server (BITSY 2.3). Applications keep the
//! addresses of the proxy, and the gateway sends the requests to the server.
//!
//! ```xml
//! <namespace urlPrefix="https://app.example.org/data/">
//!   <map xmlns="urn:feedsync:1" to="https://atom.example.net/users/anna/"/>
//! </namespace>
//! ```
//!
//! A configuration may map only addresses of its own origin. The operator of that origin gets these requests without
//! the configuration, too.

use feedsync_formats::ProxyStyle;

use crate::location::Location;

/// Name of the style, `{namespace}local`.
pub(super) const NAME: &str = "{urn:feedsync:1}map";

/// Addresses below a prefix, and the addresses of the server for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    prefix: Location,
    server: Location,
}

/// Reads the mapping of a prefix from its element. `configuration` is the address of the document.
pub(super) fn read(
    style: &ProxyStyle,
    prefix: &Location,
    configuration: &Location,
) -> Result<Mapping, String> {
    let to = style
        .attribute("to")
        .ok_or("a map needs the attribute to, with the address of the server")?;
    let server =
        Location::resolve(Some(configuration), to.trim()).map_err(|error| error.to_string())?;
    if !prefix.is_same_origin(configuration) {
        return Err(format!(
            "a configuration of {} maps only addresses there",
            configuration.origin()
        ));
    }
    for base in [prefix, &server] {
        if !base.as_str().ends_with('/') || base.as_str().contains('?') {
            return Err(format!("{base} must end with a slash and have no query"));
        }
    }
    if server.as_str().starts_with(prefix.as_str()) {
        return Err(format!("{server} is itself below the prefix"));
    }
    if configuration.as_str().starts_with(prefix.as_str()) {
        return Err("the configuration is itself below the prefix".to_owned());
    }
    Ok(Mapping { prefix: prefix.clone(), server })
}

impl Mapping {
    /// Beginning of the addresses that applications use.
    pub fn prefix(&self) -> &Location {
        &self.prefix
    }

    /// Beginning of the server's addresses.
    pub fn server(&self) -> &Location {
        &self.server
    }

    /// Returns the server's address for an address below the prefix. Returns none for every other address.
    pub fn server_address(&self, requested: &Location) -> Option<Location> {
        let below = requested.as_str().strip_prefix(self.prefix.as_str())?;
        // Appended to a path, nothing can change the host.
        format!("{}{below}", self.server).parse().ok()
    }

    /// Returns the address that applications use for an address of the server. Returns none for an address that is
    /// not below [`Mapping::server`].
    pub fn shown_address(&self, location: &Location) -> Option<Location> {
        let below = location.as_str().strip_prefix(self.server.as_str())?;
        format!("{}{below}", self.prefix).parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Location {
        text.parse().unwrap()
    }

    fn mapping(prefix: &str, to: &str) -> Result<Mapping, String> {
        let attributes = vec![("to".to_owned(), to.to_owned())];
        let style = ProxyStyle { name: NAME.to_owned(), element: String::new(), attributes };
        read(&style, &at(prefix), &at("https://app.example/proxy.xml"))
    }

    #[test]
    fn addresses_below_the_prefix_are_those_of_the_server() {
        let mapping = mapping("https://app.example/data/", "http://atom.example/anna/").unwrap();
        for (shown, server) in [
            ("https://app.example/data/", "http://atom.example/anna/"),
            ("https://app.example/data/a%2Fb?c=d", "http://atom.example/anna/a%2Fb?c=d"),
            ("https://app.example/data//evil.example/", "http://atom.example/anna//evil.example/"),
            ("https://app.example/data/@evil.example", "http://atom.example/anna/@evil.example"),
        ] {
            assert_eq!(mapping.server_address(&at(shown)), Some(at(server)), "{shown}");
            assert_eq!(mapping.shown_address(&at(server)), Some(at(shown)), "{server}");
        }
        for other in
            ["https://app.example/data", "http://app.example/data/", "https://app.example/"]
        {
            assert_eq!(mapping.server_address(&at(other)), None, "{other}");
        }
        assert_eq!(mapping.shown_address(&at("http://atom.example/bob/")), None);
    }

    #[test]
    fn the_server_is_resolved_against_the_configuration() {
        let mapping = mapping("https://app.example/data/", "/atom/").unwrap();
        assert_eq!(mapping.server().as_str(), "https://app.example/atom/");
    }

    #[test]
    fn a_configuration_maps_addresses_of_its_own_origin_and_not_itself() {
        for (prefix, to) in [
            ("https://bank.example/", "https://atom.example/"),
            ("http://app.example/data/", "https://atom.example/"),
            ("https://app.example/data", "https://atom.example/"),
            ("https://app.example/data/", "https://atom.example/a"),
            ("https://app.example/data/", "https://atom.example/?q=/"),
            ("https://app.example/data/", "https://app.example/data/deeper/"),
            ("https://app.example/", "https://atom.example/"),
            ("https://app.example/data/", "mailto:a@b"),
            ("https://app.example/data/", "https://anna:secret@atom.example/"),
        ] {
            assert!(mapping(prefix, to).is_err(), "{prefix} {to}");
        }
        let style =
            ProxyStyle { name: NAME.to_owned(), element: String::new(), attributes: vec![] };
        let (prefix, own) = (at("https://app.example/data/"), at("https://app.example/proxy.xml"));
        assert!(read(&style, &prefix, &own).unwrap_err().contains("attribute to"));
    }
}
