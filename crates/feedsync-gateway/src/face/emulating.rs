//! Pages of other origins that ask as they would ask a proxy: below the prefixes of the configurations that
//! subscriptions name (BITSY 2.3), and everything in reverse mode, where the gateway is such a proxy itself.
//! Looked at before anything else (BI112), and for pages of origins that were allowed.

use feedsync_offline::proxy::Style;
use http::header::{HeaderMap, HeaderValue};
use http::{Request, Response};

use super::body::Body;
use super::pages::asking;
use super::{CameTo, Face};
use crate::target::{self, Mode, Target};

/// A request that is answered as a proxy would.
pub(super) struct Emulated {
    style: Style,
    /// The page that asks, if it is one that may.
    page: Option<HeaderValue>,
}

impl Face {
    /// How a request is emulated, if it is.
    pub(super) fn emulated(&self, target: &Target, headers: &HeaderMap) -> Option<Emulated> {
        if self.allow_origins.is_empty() {
            return None;
        }
        let style = match (&target.mode, &self.agent) {
            (Mode::Reverse { .. }, _) => Some(Style::CrossDomain),
            (Mode::Forward, Some(agent)) => {
                agent.look(|interceptor| interceptor.style_of(&target.location))
            }
            (Mode::Forward, None) => None,
        };
        let page = asking(headers, &self.allow_origins).cloned();
        style.map(|style| Emulated { style, page })
    }

    /// How a request at an address of the gateway is emulated for a page that may ask, whatever it is about: what
    /// is said before a target is known it reads, too.
    pub(super) fn emulated_early<B>(&self, request: &Request<B>) -> Option<Emulated> {
        let page = asking(request.headers(), &self.allow_origins)?.clone();
        let came_to = request.extensions().get().map(|CameTo(address)| *address);
        let is_ours = target::is_reverse(request.uri(), request.headers(), came_to);
        is_ours.then_some(Emulated { style: Style::CrossDomain, page: Some(page) })
    }
}

impl Emulated {
    /// What the proxy itself answers.
    pub(super) fn answer<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        self.page.as_ref()?;
        let answer = self.style.answer(request.method(), request.headers())?;
        Some(answer.map(|()| Body::empty()))
    }

    /// Makes any answer that of the proxy.
    pub(super) fn adopt(&self, mut response: Response<Body>) -> Response<Body> {
        self.style.adopt(response.headers_mut(), self.page.as_ref());
        response
    }
}
