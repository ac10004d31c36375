//! Decisions of a subscriber about a feed that it read (4.1), from the stored state of its publisher.
//!
//! This module reads and writes nothing. [`feedsync_core::window`] compares the texts of windows. This module adds
//! rules for work that earlier readings left, and for windows that a store of ours wrote.

use feedsync_core::window::{Conclusion, Reason, Step, Warning, after_complete, after_reading};
use feedsync_core::{Sharing, Window};
use feedsync_store::{ChangeNumber, RemoteState, Until};

/// Next step of a subscriber with a feed that it read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The next step.
    pub step: Step,
    /// Reason why the complete feed is needed, even if this feed has everything itself.
    pub reason: Option<Reason>,
}

impl Judgement {
    /// Judges a feed that was read from `address`. `lacks_complete` means that the complete feed cannot be
    /// read now.
    pub fn of(
        state: &RemoteState,
        sharing: Option<&Sharing>,
        address: &str,
        lacks_complete: bool,
    ) -> Self {
        let remembered = state.until.as_deref();
        let window = sharing.and_then(|sharing| sharing.window.as_ref());
        let complete = sharing.and_then(Sharing::complete);
        let step = match (after_reading(remembered, sharing, address), complete) {
            // Items that another incarnation of the publisher has purged are not discarded here.
            (Step::ReadComplete { link, reason: Reason::OutOfSync }, _)
                if has_restarted(remembered, window) =>
            {
                Step::ReadComplete { link, reason: Reason::UntilDecreased }
            }
            (Step::IsComplete { reason: Reason::OutOfSync }, _)
                if has_restarted(remembered, window) =>
            {
                Step::IsComplete { reason: Reason::UntilDecreased }
            }
            (Step::Merge(_), Some(link)) if state.needs_complete && link == address => {
                Step::IsComplete { reason: Reason::Initial }
            }
            (Step::Merge(_), Some(link)) if state.needs_complete && !lacks_complete => {
                Step::ReadComplete { link: link.to_owned(), reason: Reason::Initial }
            }
            (step, _) => step,
        };
        match step {
            Step::ReadComplete {
                reason: reason @ (Reason::Initial | Reason::UntilDecreased),
                ..
            } if is_complete_feed(sharing) => {
                let step = Step::Merge(after_complete(reason, sharing, sharing));
                Self { step, reason: Some(reason) }
            }
            Step::ReadComplete { reason, .. } | Step::IsComplete { reason } => {
                Self { step, reason: Some(reason) }
            }
            Step::Merge(_) => Self { step, reason: None },
        }
    }
}

/// Concludes after the complete feed was read and then the partial one ([`after_complete`]). If they come
/// from two incarnations of the publisher, an item may be missing from both by chance, so nothing is
/// discarded.
pub fn after_both(
    reason: Reason,
    partial: Option<&Sharing>,
    complete: Option<&Sharing>,
) -> Conclusion {
    let until = |sharing: Option<&Sharing>| sharing?.window.as_ref().map(|it| it.until.clone());
    let mut conclusion = after_complete(reason, partial, complete);
    conclusion.discard &=
        !are_different_epochs(until(partial).as_deref(), until(complete).as_deref());
    conclusion
}

/// Whether a reading leads back to an earlier state of the publisher, or to another incarnation of it. In
/// that case earlier items are [protected](crate::Endpoint::protect_unseen) before the conclusion is stored.
pub fn leads_back(state: &RemoteState, conclusion: &Conclusion) -> bool {
    let (before, now) = (state.until.as_deref(), conclusion.remember.as_deref());
    let falls = before.zip(now).is_some_and(|(before, now)| now < before);
    falls || are_different_epochs(before, now)
}

/// Returns the state of a publisher after a reading. `is_complete` means that everything it has was read.
pub fn concluded(state: RemoteState, conclusion: &Conclusion, is_complete: bool) -> RemoteState {
    let lacks = matches!(conclusion.warning, Some(Warning::MayLackItems | Warning::StaleComplete));
    RemoteState {
        until: conclusion.remember.clone().or_else(|| state.until.clone()),
        needs_complete: lacks || (state.needs_complete && !is_complete),
        ..state
    }
}

/// Whether a window begins where one of our change orders begins, or has an empty `since`. Such a feed lacks
/// nothing (R-F26, S6).
pub fn is_complete_feed(sharing: Option<&Sharing>) -> bool {
    let window = sharing.and_then(|sharing| sharing.window.as_ref());
    window.is_some_and(|window| {
        let begins = window.since.parse::<Until>();
        window.since.is_empty() || begins.is_ok_and(|since| since.number == ChangeNumber::ZERO)
    })
}

/// Whether the publisher has another incarnation than the stored one, as far as its texts show.
fn has_restarted(remembered: Option<&str>, window: Option<&Window>) -> bool {
    are_different_epochs(remembered, window.map(|window| &*window.until))
}

/// Whether these values of `until` come from two incarnations of one of our change orders.
fn are_different_epochs(one: Option<&str>, other: Option<&str>) -> bool {
    let epoch = |text: Option<&str>| text?.parse::<Until>().ok().map(|until| until.epoch);
    let epochs = epoch(one).zip(epoch(other));
    epochs.is_some_and(|(one, other)| one != other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST_EPOCH: &str = "017636680001234561a2b3c4d";
    const SECOND_EPOCH: &str = "017636690001234561a2b3c4d";

    fn until(life: &str, number: u32) -> String {
        format!("{life}-{number:019}")
    }

    fn sharing(since: String, until: String) -> Sharing {
        Sharing { window: Some(Window { since, until }), expires: None, related: Vec::new() }
    }

    fn remembering(until: String, conclusion: &Conclusion) -> bool {
        let state = RemoteState { until: Some(until), ..RemoteState::default() };
        leads_back(&state, conclusion)
    }

    #[test]
    fn feeds_of_two_incarnations_discard_nothing() {
        let partial = sharing(until(FIRST_EPOCH, 3), until(FIRST_EPOCH, 5));
        for (life, is_discarded) in [(FIRST_EPOCH, true), (SECOND_EPOCH, false)] {
            let complete = sharing(until(life, 0), until(life, 5));
            let found = after_both(Reason::OutOfSync, Some(&partial), Some(&complete));
            assert_eq!(found.discard, is_discarded, "{life}");
        }
        let foreign = sharing("3".to_owned(), "5".to_owned());
        assert!(after_both(Reason::OutOfSync, Some(&foreign), Some(&foreign)).discard);
    }

    #[test]
    fn reading_that_ends_earlier_or_in_another_incarnation_leads_back() {
        let ending =
            |until: Option<String>| Conclusion { remember: until, discard: false, warning: None };
        let known = until(FIRST_EPOCH, 5);
        assert!(!remembering(known.clone(), &ending(None)));
        assert!(!remembering(known.clone(), &ending(Some(until(FIRST_EPOCH, 5)))));
        assert!(!remembering(known.clone(), &ending(Some(until(FIRST_EPOCH, 6)))));
        assert!(remembering(known.clone(), &ending(Some(until(FIRST_EPOCH, 4)))));
        assert!(remembering(known, &ending(Some(until(SECOND_EPOCH, 9)))));
        assert!(remembering("9".to_owned(), &ending(Some("10".to_owned()))));
        assert!(!leads_back(&RemoteState::default(), &ending(Some("10".to_owned()))));
    }
}
