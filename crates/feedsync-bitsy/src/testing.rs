//! Functions that the tests of several modules share.

use http::HeaderMap;

use crate::location::Location;

/// An address at `example.org`.
pub(crate) fn at(path: &str) -> Location {
    format!("http://example.org/{path}").parse().expect("a path")
}

/// Returns headers in this order.
pub(crate) fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(*name, value.parse().expect("a value"));
    }
    headers
}
