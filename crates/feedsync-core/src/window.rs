//! Partial and complete feeds (section 4): the publisher's response, and the subscriber's next step.
//!
//! `since` and `until` are opaque texts that only increase and are compared by code point (2.1 rule 4);
//! `since` is exclusive, `until` inclusive (R-F19). This module only decides: reading, merging and storing
//! happen elsewhere.

use crate::feed::{Sharing, Window};

/// Window of a publisher's response to a subscriber that requests changes after `asked` (4.2.1, R-F27). The
/// feed then contains every item changed after the window's `since`.
///
/// `horizon` is the greatest change ever removed (4.2.4), `until` the last change incorporated. A request
/// below the horizon is answered from the horizon. The subscriber then sees a `since` greater than its stored
/// one and knows that it is out of sync. A request above `until` came from another incarnation of this
/// publisher, and gets an empty window.
pub fn answer(asked: Option<&str>, horizon: &str, until: &str) -> Window {
    let since = match asked {
        Some(asked) if asked > until => until,
        Some(asked) if asked >= horizon => asked,
        _ => horizon,
    };
    Window { since: since.to_owned(), until: until.to_owned() }
}

/// Reason why a subscriber reads the complete feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It is the first read (4.1.1 step 2).
    Initial,
    /// `since` is greater than the stored `until` (4.1.2 step 2.1).
    OutOfSync,
    /// The feed no longer has a window, so that nothing proves that the subscriber is in sync (R-F31).
    WindowVanished,
    /// `until` is smaller than the stored one: the publisher was restored or replaced (R-F32).
    UntilDecreased,
}

/// Next step of a subscriber after reading a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Merge it.
    Merge(Conclusion),
    /// Read this complete feed to its end, then call [`after_complete`].
    ReadComplete {
        /// Its address, as the publisher wrote it.
        link: String,
        /// Reason for the step.
        reason: Reason,
    },
    /// The feed names itself as the complete feed: merge it, then call [`after_complete`] with it as both
    /// feeds.
    IsComplete {
        /// Reason why the subscriber needs a complete feed.
        reason: Reason,
    },
}

/// Final actions once everything is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// New value of the stored `until`; absent keeps the stored one.
    pub remember: Option<String>,
    /// Whether items of this publisher that neither feed contains are discarded (4.1.2 step 2.1.2). The safe
    /// rule applies: only items that it sent, and that no other endpoint has edited.
    pub discard: bool,
    /// Warning for the user.
    pub warning: Option<Warning>,
}

/// Warning of a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Warning {
    /// Out of sync, and there is no complete feed, or it cannot be read (R-F35).
    #[error(
        "out of sync, and the publisher offers no complete feed: the collection may lack items"
    )]
    MayLackItems,
    /// The complete feed ends before the partial one begins (R-F30).
    #[error(
        "the complete feed of the publisher is older than its window: the collection may lack items"
    )]
    StaleComplete,
    /// The publisher no longer gives the bounds of its feed (R-F31).
    #[error("the feed of the publisher no longer has since and until")]
    WindowVanished,
    /// The publisher's `until` decreased (R-F32).
    #[error("the publisher returned to an earlier state, perhaps after a restore")]
    UntilDecreased,
}

/// Decides what to do with a feed (4.1.1, 4.1.2) that was read from `address`. `remembered` is the stored
/// `until` of earlier reads.
pub fn after_reading(remembered: Option<&str>, sharing: Option<&Sharing>, address: &str) -> Step {
    let window = sharing.and_then(|sharing| sharing.window.as_ref());
    let complete = sharing.and_then(Sharing::complete);
    let (reason, warning) = match (remembered, window) {
        (None, _) => (Some(Reason::Initial), None),
        (Some(_), None) => (Some(Reason::WindowVanished), Some(Warning::WindowVanished)),
        (Some(remembered), Some(window)) if window.until.as_str() < remembered => {
            (Some(Reason::UntilDecreased), Some(Warning::UntilDecreased))
        }
        (Some(remembered), Some(window)) if window.since.as_str() > remembered => {
            (Some(Reason::OutOfSync), Some(Warning::MayLackItems))
        }
        (Some(_), Some(_)) => (None, None),
    };
    match (reason, complete) {
        (Some(reason), Some(link)) if link == address => Step::IsComplete { reason },
        (Some(reason), Some(link)) => Step::ReadComplete { link: link.to_owned(), reason },
        // Without a complete feed nothing is discarded: no edit may be lost (R-F35).
        _ => Step::Merge(Conclusion {
            remember: window.map(|window| window.until.clone()),
            discard: false,
            warning,
        }),
    }
}

/// Decides how to conclude when the complete feed was read after the partial one; both are merged,
/// the complete one first (R-F30).
pub fn after_complete(
    reason: Reason,
    partial: Option<&Sharing>,
    complete: Option<&Sharing>,
) -> Conclusion {
    let bounds = |sharing: Option<&Sharing>| sharing.and_then(|sharing| sharing.window.clone());
    let (remember, stale) = match (bounds(partial), bounds(complete)) {
        (Some(partial), Some(complete)) if partial.since > complete.until => {
            (Some(complete.until), true)
        }
        (Some(partial), Some(complete)) => (Some(partial.until.max(complete.until)), false),
        (Some(partial), None) => (Some(partial.until), false),
        (None, Some(complete)) => (Some(complete.until), false),
        (None, None) => (None, false),
    };
    let warning = match reason {
        _ if stale => Some(Warning::StaleComplete),
        Reason::WindowVanished => Some(Warning::WindowVanished),
        Reason::UntilDecreased => Some(Warning::UntilDecreased),
        Reason::Initial | Reason::OutOfSync => None,
    };
    // A missing window gives no value of its own: the stored one stays (R-F31).
    let remember = if reason == Reason::WindowVanished { None } else { remember };
    Conclusion { remember, discard: reason == Reason::OutOfSync && !stale, warning }
}

/// Decides how to conclude when the complete feed that [`after_reading`] required could not be read: the
/// partial feed is merged, nothing is discarded (R-F35).
pub fn without_complete(reason: Reason, partial: Option<&Sharing>) -> Conclusion {
    let window = partial.and_then(|sharing| sharing.window.as_ref());
    let remember = match reason {
        // Only a complete read proves that these are in sync again.
        Reason::Initial | Reason::OutOfSync | Reason::WindowVanished => None,
        Reason::UntilDecreased => window.map(|window| window.until.clone()),
    };
    Conclusion { remember, discard: false, warning: Some(Warning::MayLackItems) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::{Related, RelatedKind};

    const ADDRESS: &str = "http://example.com/partial.xml";
    const COMPLETE: &str = "http://example.com/all.xml";

    fn sharing(window: Option<(&str, &str)>, complete: Option<&str>) -> Sharing {
        Sharing {
            window: window
                .map(|(since, until)| Window { since: since.into(), until: until.into() }),
            expires: None,
            related: complete
                .map(|link| Related { link: link.into(), title: None, kind: RelatedKind::Complete })
                .into_iter()
                .collect(),
        }
    }

    fn read(remembered: Option<&str>, window: Option<(&str, &str)>, complete: bool) -> Step {
        let sharing = sharing(window, complete.then_some(COMPLETE));
        after_reading(remembered, Some(&sharing), ADDRESS)
    }

    fn merge(remember: Option<&str>, warning: Option<Warning>) -> Step {
        Step::Merge(Conclusion { remember: remember.map(Into::into), discard: false, warning })
    }

    fn complete(reason: Reason) -> Step {
        Step::ReadComplete { link: COMPLETE.into(), reason }
    }

    #[test]
    fn a_first_reading_takes_the_complete_feed_if_one_is_named() {
        assert_eq!(read(None, Some(("1", "5")), true), complete(Reason::Initial));
        assert_eq!(read(None, Some(("1", "5")), false), merge(Some("5"), None));
        assert_eq!(read(None, None, false), merge(None, None));
        assert_eq!(after_reading(None, None, ADDRESS), merge(None, None));
    }

    #[test]
    fn w1_w2_a_since_up_to_what_is_remembered_is_in_sync() {
        assert_eq!(read(Some("4"), Some(("3", "5")), true), merge(Some("5"), None));
        assert_eq!(read(Some("4"), Some(("4", "5")), true), merge(Some("5"), None));
        assert_eq!(read(Some("5"), Some(("4", "5")), true), merge(Some("5"), None));
    }

    #[test]
    fn w3_w4_a_greater_since_is_out_of_sync() {
        assert_eq!(read(Some("2"), Some(("3", "5")), true), complete(Reason::OutOfSync));
        assert_eq!(
            read(Some("2"), Some(("3", "5")), false),
            merge(Some("5"), Some(Warning::MayLackItems))
        );
    }

    #[test]
    fn w5_until_is_remembered_although_none_was_before() {
        assert_eq!(read(None, Some(("3", "5")), false), merge(Some("5"), None));
    }

    #[test]
    fn w6_a_vanished_window_keeps_what_was_remembered() {
        assert_eq!(read(Some("4"), None, false), merge(None, Some(Warning::WindowVanished)));
        assert_eq!(read(Some("4"), None, true), complete(Reason::WindowVanished));
        let partial = sharing(None, Some(COMPLETE));
        let conclusion = after_complete(Reason::WindowVanished, Some(&partial), None);
        assert_eq!((conclusion.remember, conclusion.discard), (None, false));
    }

    #[test]
    fn w7_a_publisher_that_went_back_is_read_whole_and_nothing_is_discarded() {
        assert_eq!(read(Some("7"), Some(("1", "5")), true), complete(Reason::UntilDecreased));
        let partial = sharing(Some(("1", "5")), Some(COMPLETE));
        let whole = sharing(Some(("0", "5")), None);
        let conclusion = after_complete(Reason::UntilDecreased, Some(&partial), Some(&whole));
        assert_eq!((conclusion.remember.as_deref(), conclusion.discard), (Some("5"), false));
        assert_eq!(
            read(Some("7"), Some(("1", "5")), false),
            merge(Some("5"), Some(Warning::UntilDecreased))
        );
    }

    /// Bounds that numbers, dates, dictionaries, locales and UTF-16 order differently from code points.
    const BOUNDS: [&str; 18] = [
        "0",
        "9",
        "10",
        "010",
        "99",
        "100",
        "a",
        "A",
        "Z",
        "z",
        " 9",
        "2 May 2006 09:10:33",
        "2006-05-02T09:10:33Z",
        "2006-05-02T10:10:33+02:00",
        "\u{e9}",
        "e\u{301}",
        "\u{ff5a}",
        "\u{1f600}",
    ];

    fn is_less(one: &str, other: &str) -> bool {
        one.chars().lt(other.chars())
    }

    #[test]
    fn w8_values_are_texts_not_numbers() {
        // "10" sorts below "9": a publisher that does not pad its numbers seems to have gone back.
        assert_eq!(read(Some("9"), Some(("1", "10")), true), complete(Reason::UntilDecreased));
        // As a `since` it is below the stored value, so that nothing is missing.
        assert_eq!(read(Some("9"), Some(("10", "95")), true), merge(Some("95"), None));
        assert_eq!(read(Some("10"), Some(("9", "95")), true), complete(Reason::OutOfSync));
    }

    #[test]
    fn a_subscriber_compares_bounds_by_code_point() {
        for remembered in BOUNDS {
            for since in BOUNDS {
                for until in BOUNDS {
                    let expected = if is_less(until, remembered) {
                        complete(Reason::UntilDecreased)
                    } else if is_less(remembered, since) {
                        complete(Reason::OutOfSync)
                    } else {
                        merge(Some(until), None)
                    };
                    let found = read(Some(remembered), Some((since, until)), true);
                    assert_eq!(found, expected, "{remembered} {since} {until}");
                }
            }
        }
    }

    #[test]
    fn a_complete_feed_is_stale_by_code_point_and_the_greater_until_is_remembered() {
        for since in BOUNDS {
            for until in BOUNDS {
                for end in BOUNDS {
                    let partial = sharing(Some((since, until)), Some(COMPLETE));
                    let whole = sharing(Some(("", end)), None);
                    let found = after_complete(Reason::OutOfSync, Some(&partial), Some(&whole));
                    let is_stale = is_less(end, since);
                    let greater = if is_less(until, end) { end } else { until };
                    let expected = Conclusion {
                        remember: Some(if is_stale { end } else { greater }.into()),
                        discard: !is_stale,
                        warning: is_stale.then_some(Warning::StaleComplete),
                    };
                    assert_eq!(found, expected, "{since} {until} {end}");
                }
            }
        }
    }

    #[test]
    fn a_publisher_compares_what_is_asked_for_by_code_point() {
        for horizon in BOUNDS {
            for until in BOUNDS.into_iter().filter(|until| !is_less(until, horizon)) {
                for asked in BOUNDS {
                    let expected = if is_less(until, asked) {
                        until
                    } else if is_less(asked, horizon) {
                        horizon
                    } else {
                        asked
                    };
                    let window = answer(Some(asked), horizon, until);
                    assert_eq!((&*window.since, &*window.until), (expected, until), "{asked}");
                }
            }
        }
    }

    #[test]
    fn w9_until_of_a_stale_complete_feed_is_what_is_remembered() {
        let partial = sharing(Some(("6", "9")), Some(COMPLETE));
        let stale = sharing(Some(("0", "5")), None);
        assert_eq!(
            after_complete(Reason::OutOfSync, Some(&partial), Some(&stale)),
            Conclusion {
                remember: Some("5".into()),
                discard: false,
                warning: Some(Warning::StaleComplete)
            }
        );
        let fresh = sharing(Some(("0", "7")), None);
        let conclusion = after_complete(Reason::OutOfSync, Some(&partial), Some(&fresh));
        assert_eq!((conclusion.remember.as_deref(), conclusion.discard), (Some("9"), true));
        let bare = after_complete(Reason::OutOfSync, Some(&partial), None);
        assert_eq!((bare.remember.as_deref(), bare.discard), (Some("9"), true));
    }

    #[test]
    fn w10_a_complete_feed_that_names_itself_is_not_read_again() {
        for (remembered, until, discard, reason) in [
            (None, "5", false, Some(Reason::Initial)),
            (Some("2"), "5", true, Some(Reason::OutOfSync)),
            (Some("3"), "5", false, None),
            (Some("6"), "5", false, Some(Reason::UntilDecreased)),
        ] {
            let itself = sharing(Some(("3", until)), Some(ADDRESS));
            let step = after_reading(remembered, Some(&itself), ADDRESS);
            let Some(reason) = reason else {
                assert_eq!(step, merge(Some(until), None));
                continue;
            };
            assert_eq!(step, Step::IsComplete { reason }, "{remembered:?}");
            let conclusion = after_complete(reason, Some(&itself), Some(&itself));
            assert_eq!(
                (conclusion.remember.as_deref(), conclusion.discard),
                (Some(until), discard)
            );
        }
        let bare = sharing(None, Some(ADDRESS));
        let step = after_reading(Some("5"), Some(&bare), ADDRESS);
        assert_eq!(step, Step::IsComplete { reason: Reason::WindowVanished });
    }

    #[test]
    fn an_unreadable_complete_feed_discards_nothing_and_proves_nothing() {
        let partial = sharing(Some(("3", "5")), Some(COMPLETE));
        for reason in [Reason::Initial, Reason::OutOfSync, Reason::WindowVanished] {
            let conclusion = without_complete(reason, Some(&partial));
            assert_eq!(conclusion.remember, None);
            assert!(!conclusion.discard);
            assert_eq!(conclusion.warning, Some(Warning::MayLackItems));
        }
    }

    #[test]
    fn a_publisher_shows_who_fell_behind_and_who_is_ahead() {
        let window = |asked| {
            let window = answer(asked, "e2-03", "e2-07");
            (window.since, window.until)
        };
        assert_eq!(window(None), ("e2-03".into(), "e2-07".into()));
        assert_eq!(window(Some("e2-05")), ("e2-05".into(), "e2-07".into()));
        assert_eq!(window(Some("e2-03")), ("e2-03".into(), "e2-07".into()));
        // Below the horizon, or of an earlier epoch: out of sync by 4.1.2.
        assert_eq!(window(Some("e2-02")), ("e2-03".into(), "e2-07".into()));
        assert_eq!(window(Some("e1-99")), ("e2-03".into(), "e2-07".into()));
        // Above `until`: a restored publisher.
        assert_eq!(window(Some("e2-09")), ("e2-07".into(), "e2-07".into()));
    }
}
