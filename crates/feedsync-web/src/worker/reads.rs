//! Commands that change no stored data.

use feedsync_bitsy::collections::SortedSet;
use feedsync_bitsy::interceptor::{Decision, Digest, Request, Stored as _};
use serde_json::{Value, json};

use super::{CommandError, Worker, values, writes_value};
use crate::codec::Fields;
use crate::engine::Circumstances;
use crate::store::Swept;

impl Worker {
    /// Decides about a request of a page: `pass` leaves it to the browser, `edit` asks for its body, and `reply` is the
    /// response. `isKnown` tells whether a subscription knows the address.
    pub(super) fn request(
        &mut self,
        of: Fields<'_>,
        with: Circumstances,
    ) -> Result<Value, CommandError> {
        let request = values::request(of)?;
        let (decision, is_known) = self.engine.read(with, |state, cx| {
            let values::PageRequest { method, location, headers } = &request;
            let is_known = !cx.stored.resources(location)?.is_empty();
            let decision = state.responder().decide(cx, Request { method, location, headers })?;
            Ok((decision, is_known))
        })?;
        Ok(match decision {
            Decision::Pass => json!({ "pass": true, "isKnown": is_known }),
            Decision::QueueEdit(_) | Decision::ForwardEdit(_) => {
                json!({ "edit": true, "location": request.location.as_str() })
            }
            Decision::Answer(reply) => json!({ "reply": self.answer(&request, &reply, with)? }),
        })
    }

    /// Notes whether a request reached its server. The result is whether the server was away before.
    pub(super) fn reached(
        &mut self,
        of: Fields<'_>,
        with: Circumstances,
    ) -> Result<Value, CommandError> {
        let (location, did) = (of.location("url")?, of.flag("did")?);
        let was_away = !self.engine.state().is_reached(&location);
        self.engine.reached(&location, did, with);
        Ok(json!(did && was_away))
    }
}

/// Decides about candidates of a sweep: pairs of a key and whether a row refers to the content.
pub(super) fn sweep(of: Fields<'_>, needed: &SortedSet<Digest>) -> Result<Value, CommandError> {
    let pair = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_bool()?));
    let candidates: Vec<(String, bool)> = of.list("candidates")?.iter().filter_map(pair).collect();
    let candidates = candidates.iter().map(|(key, is_used)| (key.as_str(), *is_used));
    let Swept { writes, unused } = Swept::of(candidates, needed);
    let unused: Value = unused.iter().map(|digest| json!(digest.to_string())).collect();
    Ok(json!({ "writes": writes_value(&writes), "unused": unused }))
}
