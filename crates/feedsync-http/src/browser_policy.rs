//! Browser policy of every response, set in one place (B43).
//!
//! Entries, media, attachments and logs contain untrusted content, and a browser runs scripts in XHTML, SVG
//! and HTML. So a response is sandboxed: it has no origin, runs no script and loads nothing. Only a response
//! that is marked as one of the server's own pages gets the policy of that page. The mark is a private response
//! extension, so no path, media type or header can forge it.

use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode, header};

/// Content security policy of every response that is not one of our own pages.
pub const SANDBOX: &str = "default-src 'none'; sandbox";

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Content security policy of a page, carried by its response until the response is sent.
#[derive(Debug, Clone)]
struct OwnPage(&'static str);

/// Marks a response as one of our own pages, with its content security policy.
pub fn mark_page(response: &mut Response, policy: &'static str) {
    response.extensions_mut().insert(OwnPage(policy));
}

/// Sets the policy headers of a response that is about to be sent. Headers that a handler set are replaced. A
/// 304 carries no policy: the browser uses the one of its cached response (RFC 9110 15.4.5).
pub fn apply(response: &mut Response) {
    let page = response.extensions_mut().remove::<OwnPage>();
    if page.is_none() && response.status() == StatusCode::NOT_MODIFIED {
        response.headers_mut().remove(header::CONTENT_SECURITY_POLICY);
        return;
    }
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    match page {
        Some(OwnPage(policy)) => {
            set(header::CONTENT_SECURITY_POLICY, policy);
            set(RESOURCE_POLICY, "same-origin");
        }
        None => {
            set(header::CONTENT_SECURITY_POLICY, SANDBOX);
            // Links in untrusted content must not reveal the address of a private feed to other sites.
            set(header::REFERRER_POLICY, "no-referrer");
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;

    use super::*;

    #[test]
    fn a_policy_that_a_handler_set_does_not_replace_the_sandbox() {
        let own = [(header::CONTENT_SECURITY_POLICY, "script-src *")];
        let mut response = (own, "<script>").into_response();
        apply(&mut response);
        let policies: Vec<_> =
            response.headers().get_all(header::CONTENT_SECURITY_POLICY).iter().collect();
        assert_eq!(policies, [SANDBOX]);
    }

    #[test]
    fn a_marked_page_keeps_its_own_policy() {
        let mut response = "page".into_response();
        mark_page(&mut response, "default-src 'self'");
        apply(&mut response);
        assert_eq!(response.headers()[header::CONTENT_SECURITY_POLICY], "default-src 'self'");
        assert_eq!(response.headers()[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    }
}
