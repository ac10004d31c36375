//! The rules of a user in memory, and which articles they were applied to.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::library::FeedFingerprint;
use feedsync_log::{Millis, Tick};
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_reading_state::{ReaderState, SettingName, SettingValue};

use super::matcher::CompiledRule;
use super::rule::{DUPLICATES_SETTING, MAX_RULES, PROGRESS_SETTING, RULE_PREFIX, Rule};

/// Articles that arrived up to this long before the last application are examined again, in milliseconds: while one was
/// stored, rules may have been applied to later ones.
const OVERLAP: u64 = 10 * 60 * 1_000;

/// Interval at which the progress is recorded if nothing else is, in milliseconds.
const RECORD_INTERVAL: u64 = 60 * 60 * 1_000;

/// The rules of a user, and which articles they were applied to.
#[derive(Debug, Default)]
pub(crate) struct RuleProgress {
    /// The settings from which the rules were compiled.
    settings: Vec<(SettingName, SettingValue, Tick)>,
    compiled: Arc<[CompiledRule]>,
    /// Time since which articles that the user has in another feed are hidden.
    duplicates_since: Option<Millis>,
    /// Time of the last application in this process.
    until: Option<Millis>,
    /// Articles that were examined, as far as they could be listed again.
    pub(crate) examined: Arc<BTreeSet<ArticleNumber>>,
    /// The feeds as they were when all of their articles had been examined.
    feeds: Vec<(FeedNumber, FeedFingerprint)>,
}

impl RuleProgress {
    /// The active rules of a state. Rules that are not valid are left out.
    pub(crate) fn rules(&mut self, state: &ReaderState) -> Arc<[CompiledRule]> {
        let settings: Vec<_> = state
            .settings()
            .filter(|(name, ..)| {
                name.as_str().starts_with(RULE_PREFIX) || name.as_str() == DUPLICATES_SETTING
            })
            .map(|(name, value, tick)| (name.clone(), value.clone(), tick))
            .collect();
        if settings != self.settings {
            let duplicates = settings.iter().find(|(name, ..)| name.as_str() == DUPLICATES_SETTING);
            let duplicates = duplicates.filter(|(_, value, _)| value.json() == true);
            self.duplicates_since = duplicates.map(|(_, _, tick)| tick.millis());
            let rules = settings.iter().filter(|(name, ..)| name.as_str() != DUPLICATES_SETTING);
            let rules = rules.filter_map(|(_, value, tick)| {
                let rule = Rule::read(value).ok().filter(|rule| rule.is_active)?;
                CompiledRule::new(rule, tick.millis()).ok()
            });
            self.compiled = rules.take(MAX_RULES).collect();
            self.settings = settings;
            self.feeds.clear();
        }
        Arc::clone(&self.compiled)
    }

    /// Whether an article is hidden if the user has it in another feed.
    pub(crate) fn hides_duplicates(&self, received: Millis) -> bool {
        self.duplicates_since.is_some_and(|since| since <= received)
    }

    /// Whether there is anything to apply.
    pub(crate) fn is_active(&self) -> bool {
        !self.compiled.is_empty() || self.duplicates_since.is_some()
    }

    /// Whether articles of these feeds may have arrived since the last application.
    pub(crate) fn is_behind(&self, feeds: &[(FeedNumber, FeedFingerprint)]) -> bool {
        self.feeds != feeds
    }

    /// Time of arrival from which articles are examined.
    pub(crate) fn begin(&self, state: &ReaderState, now: Millis) -> Millis {
        let made = self.compiled.iter().map(|rule| rule.since).chain(self.duplicates_since);
        let made = made.min().unwrap_or(now);
        let until = self.until.or_else(|| recorded(state)).unwrap_or(made);
        made.max(until.min(now).before(OVERLAP))
    }

    /// Notes that articles were examined, in an application that began at a time. `feeds` are given if there are no further
    /// ones. Returns whether the progress should be recorded even if there is nothing else to record.
    pub(crate) fn note(
        &mut self,
        state: &ReaderState,
        examined: BTreeSet<ArticleNumber>,
        until: Millis,
        feeds: Option<Vec<(FeedNumber, FeedFingerprint)>>,
    ) -> bool {
        self.examined = Arc::new(examined);
        self.until = Some(until);
        self.feeds = feeds.unwrap_or_default();
        recorded(state).is_none_or(|recorded| until.get() > recorded.get() + RECORD_INTERVAL)
    }
}

/// Time up to which rules were applied, as the log has it.
fn recorded(state: &ReaderState) -> Option<Millis> {
    state.setting(PROGRESS_SETTING)?.json().as_u64().map(Millis::new)
}
