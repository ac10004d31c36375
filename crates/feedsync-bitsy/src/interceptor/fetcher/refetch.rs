//! Requests of applications past the outbox that make stored representations outdated (RFC 9111 4.4).

use http::{HeaderMap, Method, StatusCode};

use crate::interceptor::context::{Context, Draft};
use crate::interceptor::fetcher::Fetcher;
use crate::interceptor::state::{Invalidated, is_unsafe};
use crate::interceptor::step::Step;
use crate::interceptor::stored::Stored;
use crate::location::Location;

impl Fetcher<'_> {
    /// Applies the response to a request that was forwarded past the outbox.
    pub fn passed_through<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        (method, target): (&Method, &Location),
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<Step, S::Error> {
        let mut invalidated = Vec::new();
        if is_unsafe(method) && (status.is_success() || status.is_redirection()) {
            invalidated.push(self.state.invalidated(cx, target)?);
            invalidated.extend(self.state.invalidated_by(cx, target, headers, &[])?);
        }
        Ok(self.refetch(cx.draft(), invalidated))
    }

    /// Applies a request that may have changed data of the server and got no response.
    pub fn may_have_changed<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        (method, target): (&Method, &Location),
    ) -> Result<Step, S::Error> {
        let mut invalidated = Vec::new();
        if is_unsafe(method) {
            invalidated.push(self.state.invalidated(cx, target)?);
        }
        Ok(self.refetch(cx.draft(), invalidated))
    }

    fn refetch(&mut self, mut draft: Draft, invalidated: Vec<Invalidated>) -> Step {
        invalidated.into_iter().for_each(|it| self.state.invalidate(&mut draft, it));
        self.state.count(&mut draft);
        draft.step
    }
}
