//! Return address after sign-in: the requested page, never another host.

use http::Uri;
use http::uri::PathAndQuery;

use crate::http::query::encoded;

/// Maximum size of a stored address, in bytes.
const MAX_BYTES: usize = 1_000;

/// A page of this hub, as its path and query below the public base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReturnTarget(String);

impl ReturnTarget {
    /// Parses the value of a form or an address. A value that is not clearly a page of this hub
    /// becomes its first page: a browser must not interpret it as another host or another part of this
    /// one.
    pub(super) fn parse(text: &str) -> Self {
        let path = text.split(['?', '#']).next().unwrap_or_default();
        let is_page = path == "/" || path == "/pages" || path.starts_with("/pages/");
        let plain = text.bytes().all(|byte| matches!(byte, b'!'..=b'~') && byte != b'\\')
            && !text.contains('#')
            && !path.contains("//")
            && !path.split('/').any(is_dots)
            && text.len() <= MAX_BYTES
            && text.parse::<PathAndQuery>().is_ok();
        // Forms are posted to these paths, but they show no page.
        let shows = !path.starts_with("/pages/login") && !path.starts_with("/pages/logout");
        Self(if is_page && plain && shows { text.to_owned() } else { "/".to_owned() })
    }

    /// The requested page.
    pub(super) fn here(uri: &Uri) -> Self {
        Self::parse(uri.path_and_query().map_or("/", PathAndQuery::as_str))
    }

    /// Its path and query.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Its address, below the path of the public base.
    pub(super) fn address(&self, root: &str) -> String {
        format!("{root}{}", self.0)
    }

    /// Address of the sign-in page that returns to it.
    pub(super) fn login(&self, root: &str) -> String {
        match self.as_str() {
            "/" => format!("{root}/pages/login"),
            page => format!("{root}/pages/login?to={}", encoded(page)),
        }
    }
}

/// Whether browsers drop this segment, or also the one before it.
fn is_dots(segment: &str) -> bool {
    matches!(&*segment.to_ascii_lowercase().replace("%2e", "."), "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_hub_are_gone_back_to() {
        for page in ["/", "/?a=b", "/pages/account", "/pages/collections/a?q=%2F%2Fb&before=3"] {
            assert_eq!(ReturnTarget::parse(page).as_str(), page);
        }
        for other in [
            "",
            "//example.org",
            "///example.org/pages/",
            "/\\example.org",
            "\\\\example.org",
            "https://example.org/pages/",
            "https:example.org",
            "javascript:alert(1)",
            "/pages/..//example.org",
            "/pages/../collections/notes",
            "/pages/%2e%2E/collections",
            "/pages//example.org",
            "/pages/\\example.org",
            "/pages/\t/example.org",
            "/\t/example.org",
            "/pages/\r\nSet-Cookie: a=b",
            "/pages/ü",
            "pages/account",
            "/collections/notes",
            "/blobs/x",
            "/pages/a#b",
            "/pages/login?to=/pages/login",
            "/pages/logout",
            " /pages/account",
            &format!("/pages/{}", "x".repeat(MAX_BYTES)),
        ] {
            assert_eq!(ReturnTarget::parse(other).as_str(), "/", "{other:?}");
        }
    }

    #[test]
    fn a_page_is_found_again_in_the_address_that_signs_in() {
        let page = ReturnTarget::parse("/pages/collections/a?q=b&c=1");
        assert_eq!(
            page.login("/hub"),
            "/hub/pages/login?to=%2Fpages%2Fcollections%2Fa%3Fq%3Db%26c%3D1"
        );
        assert_eq!(page.address("/hub"), "/hub/pages/collections/a?q=b&c=1");
        assert_eq!(ReturnTarget::parse("/").login(""), "/pages/login");
    }
}
