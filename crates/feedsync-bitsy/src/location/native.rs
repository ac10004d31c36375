//! Parser of URLs: the crate `url`.

use url::Url;

use super::UrlFault;

/// Resolves a reference against an absolute URL, and normalises the case of scheme and host, the default port, dot
/// segments and characters outside ASCII.
pub(super) fn resolve(base: Option<&str>, reference: &str) -> Result<String, UrlFault> {
    let base = base.map(Url::parse).transpose().map_err(fault)?;
    let parsed = Url::options().base_url(base.as_ref()).parse(reference);
    parsed.map(String::from).map_err(fault)
}

fn fault(error: url::ParseError) -> UrlFault {
    match error {
        url::ParseError::RelativeUrlWithoutBase => UrlFault::Relative,
        error => UrlFault::Other(error.to_string()),
    }
}
