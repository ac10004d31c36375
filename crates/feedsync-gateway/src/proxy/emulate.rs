//! Pages of other origins that use the gateway as an emulated proxy (BITSY 2.3). This applies below the prefixes
//! of the configurations that subscriptions name. In reverse mode it applies to everything, since the gateway
//! itself is such a proxy. Emulation is checked before anything else (BI112), and is available to pages of
//! allowed origins.

use feedsync_bitsy::proxy::Style;
use http::header::{HeaderMap, HeaderValue};
use http::{Request, Response};

use super::body::Body;
use super::pages::asking;
use super::{Intercepted, LocalAddress, Proxy};
use crate::target::{self, Mode, Target};

/// A request that is answered as the emulated proxy would.
pub(super) struct Emulated {
    style: Style,
    /// Origin of the requesting page, if it is allowed.
    page: Option<HeaderValue>,
}

impl Proxy {
    /// Returns how a request is emulated, if it is.
    pub(super) fn emulated(&self, target: &Target, headers: &HeaderMap) -> Option<Emulated> {
        if self.allow_origins.is_empty() {
            return None;
        }
        let style = match (&target.mode, &self.driver) {
            (Mode::Reverse { .. }, _) => Some(Style::CrossDomain),
            (Mode::Forward, Some(driver)) => {
                driver.inspect(|state| state.style_of(&target.location))
            }
            (Mode::Forward, None) => None,
        };
        let page = asking(headers, &self.allow_origins).cloned();
        style.map(|style| Emulated { style, page })
    }

    /// Returns the emulation of a request to the gateway's own address for an allowed page, independent of its
    /// target. It makes responses readable for the page that are sent before the target is known.
    pub(super) fn emulated_early<B>(&self, request: &Request<B>) -> Option<Emulated> {
        if request.extensions().get::<Intercepted>().is_some() {
            return None;
        }
        let page = asking(request.headers(), &self.allow_origins)?.clone();
        let local_address = request.extensions().get().map(|LocalAddress(address)| *address);
        let is_ours = target::is_reverse(request.uri(), request.headers(), local_address);
        is_ours.then_some(Emulated { style: Style::CrossDomain, page: Some(page) })
    }
}

impl Emulated {
    /// Returns the response of the proxy itself, if it answers the request.
    pub(super) fn answer<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        self.page.as_ref()?;
        let answer = self.style.answer(request.method(), request.headers())?;
        Some(answer.map(|()| Body::empty()))
    }

    /// Adds the header fields of the proxy to a response.
    pub(super) fn adopt(&self, mut response: Response<Body>) -> Response<Body> {
        self.style.adopt(response.headers_mut(), self.page.as_ref());
        response
    }
}
