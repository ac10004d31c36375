//! Redirects, followed by hand.

use http::header::{HeaderMap, LOCATION};
use http::{Method, StatusCode};
use reqwest::Url;

use crate::fetch::address::is_http;
use crate::fetch::error::{FetchError, shown};

/// Whether an answer sends this request elsewhere. What carries a body is only sent again where the
/// server says that it must be the same request (307, 308).
pub(crate) fn is_redirect(status: StatusCode, method: &Method) -> bool {
    match status.as_u16() {
        307 | 308 => true,
        301..=303 => method.is_safe(),
        _ => false,
    }
}

/// The way so far: every address that was asked, the present one last.
pub(crate) struct Trail {
    way: Vec<Url>,
    here: Url,
    limit: usize,
    /// Whether every redirect so far said that it was for good (RFC 9110 15.4.2, 15.4.9).
    for_good: bool,
}

impl Trail {
    pub(crate) fn new(start: Url, limit: usize) -> Self {
        Self { way: Vec::new(), here: start, limit, for_good: true }
    }

    pub(crate) fn here(&self) -> &Url {
        &self.here
    }

    /// Where what was asked for is from now on, if it moved for good.
    pub(crate) fn moved_to(&self) -> Option<&Url> {
        (self.for_good && !self.way.is_empty()).then_some(&self.here)
    }

    /// Goes where an answer points; says whether that is another origin. There it knows no
    /// credentials; neither those we came with nor any that the server would have us use.
    pub(crate) fn follow(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<bool, FetchError> {
        self.for_good &= matches!(status.as_u16(), 301 | 308);
        let url = shown(&self.here);
        let bad =
            |reason: &str| FetchError::Redirect { url: url.clone(), reason: reason.to_owned() };
        let location = headers.get(LOCATION).ok_or_else(|| bad("a redirect to nowhere"))?;
        let location = location.to_str().map_err(|_| bad("a redirect to no address"))?;
        let mut next = self.here.join(location).map_err(|_| bad("a redirect to no address"))?;
        if !is_http(&next) {
            return Err(bad("a redirect to what is not http or https"));
        }
        if self.here.scheme() == "https" && next.scheme() == "http" {
            return Err(bad("a redirect from https down to http"));
        }
        next.set_fragment(None);
        let other_origin = self.here.origin() != next.origin();
        let (user, password) =
            if other_origin { ("", None) } else { (self.here.username(), self.here.password()) };
        // Both fail only for addresses that have no host.
        let _ = next.set_username(user);
        let _ = next.set_password(password);
        self.way.push(std::mem::replace(&mut self.here, next));
        if self.way.contains(&self.here) {
            return Err(FetchError::RedirectLoop { url: shown(&self.here) });
        }
        if self.way.len() > self.limit {
            return Err(FetchError::TooManyRedirects { url: shown(&self.here), limit: self.limit });
        }
        Ok(other_origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(from: &str, to: &str) -> Result<String, FetchError> {
        let mut trail = Trail::new(Url::parse(from).unwrap(), 5);
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, to.parse().unwrap());
        trail.follow(StatusCode::FOUND, &headers)?;
        Ok(trail.here().to_string())
    }

    #[test]
    fn credentials_stay_with_their_origin() {
        let from = "http://anna:secret@a.example/x";
        assert_eq!(follow(from, "/y").unwrap(), "http://anna:secret@a.example/y");
        assert_eq!(follow(from, "http://b.example/y").unwrap(), "http://b.example/y");
        assert_eq!(follow(from, "http://a.example:81/y").unwrap(), "http://a.example:81/y");
        assert_eq!(
            follow("http://a.example/", "http://u:p@b.example/").unwrap(),
            "http://b.example/"
        );
    }

    #[test]
    fn https_never_leads_down_to_http() {
        assert!(matches!(
            follow("https://a.example/", "http://a.example/x"),
            Err(FetchError::Redirect { .. })
        ));
        assert!(follow("http://a.example/", "https://a.example/x").is_ok());
    }

    #[test]
    fn other_schemes_are_not_followed() {
        assert!(matches!(
            follow("http://a.example/", "file:///x"),
            Err(FetchError::Redirect { .. })
        ));
    }

    #[test]
    fn a_body_is_sent_again_only_where_the_request_must_stay_the_same() {
        assert!(!is_redirect(StatusCode::SEE_OTHER, &Method::POST));
        assert!(!is_redirect(StatusCode::FOUND, &Method::POST));
        assert!(is_redirect(StatusCode::PERMANENT_REDIRECT, &Method::POST));
        assert!(is_redirect(StatusCode::FOUND, &Method::GET));
    }
}
