//! Requests below the prefix of an emulated proxy that maps addresses to another server (BITSY 2.3). The gateway sends
//! them to the server and not to the proxy. Applications, subscriptions and the store see the addresses of the proxy.
//!
//! Only documents and header fields with addresses are changed. A response has no ranges, since the length of a
//! document differs.

use std::sync::Arc;

use feedsync_bitsy::location::Location;
use feedsync_bitsy::proxy::Mapping;
use feedsync_formats::WrittenAddress;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response};

use crate::links::{AddressMap, slashes, spelled};
use crate::proxy::{Body, in_link};
use crate::rewrite::document::Kind;
use crate::rewrite::{BYTES_HEADERS, Direction, Rewriter, remove};
use crate::upstream::{Upstream, UpstreamError};

/// Field that names where WebDAV copies or moves a resource (RFC 4918 10.3).
const DESTINATION: HeaderName = HeaderName::from_static("destination");

/// Fields of responses with an address.
const ADDRESSES: [HeaderName; 2] = [header::LOCATION, header::CONTENT_LOCATION];

/// A request below the prefix of a mapping.
pub(crate) struct Mapped {
    mapping: Mapping,
    /// Address of the resource at the server.
    server: Location,
}

impl Mapped {
    /// Creates the request for an address below the prefix.
    pub(crate) fn new(mapping: Mapping, requested: &Location) -> Self {
        // A mapping is only returned for addresses below its prefix.
        let server = mapping.server_address(requested).unwrap_or_else(|| mapping.server().clone());
        Self { mapping, server }
    }

    /// Sends the request to the server; returns its response with the addresses of the proxy. A document that breaks
    /// off makes the message break off.
    pub(crate) async fn send(
        &self,
        upstream: &Upstream,
        request: Request<Body>,
    ) -> Result<Response<Body>, UpstreamError> {
        let (permits, limits) = (Arc::clone(&upstream.documents), upstream.limits());
        let rewriter = Rewriter { links: Prefixes(self.mapping.clone()), permits, limits };
        let is_head = request.method() == Method::HEAD;
        let (mut parts, mut body) = request.into_parts();
        self.restore(&mut parts.headers);
        if matches!(parts.method, Method::POST | Method::PUT) {
            body = rewriter.body(&mut parts.headers, body, Direction::ToServer).await;
        }
        let request = Request::from_parts(parts, body);
        let response = upstream.send_own(&self.server, self.mapping.prefix(), request).await?;
        let (mut parts, mut body) = response.into_parts();
        self.show(&mut parts.headers);
        if is_head && Kind::of(&parts.headers).is_some() {
            remove(&mut parts.headers, &BYTES_HEADERS);
        } else {
            body = rewriter.body(&mut parts.headers, body, Direction::ToApplication).await;
        }
        Ok(Response::from_parts(parts, body))
    }

    /// Restores the addresses of the server, and requests what can be rewritten.
    fn restore(&self, headers: &mut HeaderMap) {
        remove(headers, &[header::RANGE, header::IF_RANGE]);
        if headers.contains_key(header::ACCEPT_ENCODING) {
            let readable = HeaderValue::from_static("gzip, identity");
            headers.insert(header::ACCEPT_ENCODING, readable);
        }
        let destination =
            headers.get(DESTINATION).and_then(|value| value.to_str().ok()?.parse().ok());
        let destination = destination.and_then(|to| self.mapping.server_address(&to));
        if let Some(to) = destination.and_then(|to| to.as_str().parse().ok()) {
            headers.insert(DESTINATION, to);
        }
    }

    /// Shows the addresses of the proxy in header fields.
    fn show(&self, headers: &mut HeaderMap) {
        let shown = |reference: &str| {
            let location = Location::resolve(Some(&self.server), reference).ok()?;
            let shown = self.mapping.shown_address(&location).unwrap_or(location);
            let fragment = reference.find('#').map_or("", |at| &reference[at..]);
            Some(format!("{shown}{fragment}"))
        };
        for name in ADDRESSES {
            let value = headers.get(&name).and_then(|value| value.to_str().ok());
            if let Some(value) = value.and_then(|text| shown(text)?.parse().ok()) {
                headers.insert(name, value);
            }
        }
        let links: Vec<HeaderValue> = headers.get_all(header::LINK).iter().cloned().collect();
        headers.remove(header::LINK);
        for link in links {
            let changed = link.to_str().ok().and_then(|text| in_link(text, shown).parse().ok());
            headers.append(header::LINK, changed.unwrap_or(link));
        }
    }
}

/// Replaces the beginnings of addresses.
#[derive(Debug, Clone)]
struct Prefixes(Mapping);

impl AddressMap for Prefixes {
    fn shown(&self, address: WrittenAddress<'_>) -> Option<String> {
        let (prefix, server) = (self.0.prefix(), self.0.server());
        // A path is relative to the server, whose paths differ from those of the proxy.
        let path = &server.as_str()[server.origin().len()..];
        let shown = exchanged(address, server.as_str(), prefix.as_str());
        shown.or_else(|| exchanged(address, path, prefix.as_str()))
    }

    fn original(&self, address: WrittenAddress<'_>) -> Option<String> {
        exchanged(address, self.0.prefix().as_str(), self.0.server().as_str())
    }
}

/// Returns the address with another beginning, if it has this one.
fn exchanged(address: WrittenAddress<'_>, from: &str, to: &str) -> Option<String> {
    let WrittenAddress { raw, notation } = address;
    slashes(notation).into_iter().find_map(|slash| {
        let rest = raw.strip_prefix(&*spelled(from, notation, slash))?;
        // Two slashes begin a reference to another host.
        let is_other = from == "/" && rest.starts_with(slash);
        (!is_other).then(|| format!("{}{rest}", spelled(to, notation, slash)))
    })
}

#[cfg(test)]
mod tests {
    use feedsync_formats::Notation;

    use super::*;

    #[test]
    fn addresses_below_the_server_are_shown_below_the_prefix() {
        let configuration = "<proxy xmlns='http://purl.org/BITSY'><namespace urlPrefix='https://app.example/data/'>\
            <map xmlns='urn:feedsync:1' to='http://atom.example/'/></namespace></proxy>";
        let at = |text: &str| text.parse::<Location>().unwrap();
        let own = at("https://app.example/proxy.xml");
        let read =
            feedsync_bitsy::proxy::Configuration::read(configuration.as_bytes(), &own).unwrap();
        let mapping = read.mapping_of(&at("https://app.example/data/feed")).unwrap();
        let prefixes = Prefixes(mapping.clone());
        for (raw, notation, shown) in [
            (
                "http://atom.example/1?a&amp;b",
                Notation::Markup,
                Some("https://app.example/data/1?a&amp;b"),
            ),
            (r"http:\/\/atom.example\/1", Notation::Json, Some(r"https:\/\/app.example\/data\/1")),
            ("/1", Notation::Markup, Some("https://app.example/data/1")),
            ("//other.example/1", Notation::Markup, None),
            ("1", Notation::Markup, None),
            ("http://atom.example", Notation::Markup, None),
            ("https://app.example/data/1", Notation::Markup, None),
        ] {
            let found = prefixes.shown(WrittenAddress { raw, notation });
            assert_eq!(found.as_deref(), shown, "{raw}");
            if let Some(shown) = shown.filter(|_| raw.starts_with("http")) {
                let back = prefixes.original(WrittenAddress { raw: shown, notation });
                assert_eq!(back.as_deref(), Some(raw));
            }
        }
    }
}
