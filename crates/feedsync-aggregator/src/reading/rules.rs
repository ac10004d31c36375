//! The rules of a user: shown, changed, tried, and applied to the articles that arrive.

use std::collections::BTreeSet;
use std::sync::Arc;

use feedsync_log::Millis;
use feedsync_reader_api::ArticleNumber;
use feedsync_reading_state::{Action, SettingName, SettingValue};
use tokio::sync::Semaphore;

use crate::library::{LibraryError, ListEntry, Selection, StoredArticle};
use crate::reading::person::{LoadedReading, Person, ReadingError};
use crate::reading::subscription_view::{FeedView, SubscriptionView};
use crate::rules::{
    CompiledRule, DUPLICATES_SETTING, MAX_RULES, MatchedParts, PROGRESS_SETTING, RULE_PREFIX, Rule,
    RuleError,
};

/// Number of articles that are loaded and compared at once.
const BATCH: usize = 50;

/// Maximum number of batches before a request is answered; later articles are examined for the next request.
const MAX_BATCHES: usize = 100;

/// Number of articles with which a rule is tried, the newest.
pub const MAX_TRIED: usize = 500;

/// Comparisons of all users that may run at once, so that they leave processors for requests.
static COMPARISONS: Semaphore = Semaphore::const_new(2);

/// A rule of a user, or why a setting is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRule {
    /// Name of the setting.
    pub name: SettingName,
    /// The rule.
    pub rule: Result<Rule, RuleError>,
}

/// What a rule would concern.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TriedRule {
    /// Number of articles with which it was compared.
    pub tried: usize,
    /// Articles that match, the newest first.
    pub matching: Vec<ListEntry>,
}

impl Person {
    /// The rules, in the order of the names of their settings.
    pub async fn rules(&self) -> Result<Vec<StoredRule>, ReadingError> {
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        Ok(stored_rules(&loaded))
    }

    /// Stores a rule: a new one, or another one under the name of a stored one. It concerns articles that arrive from now
    /// on. Returns the name of its setting.
    pub async fn set_rule(
        &self,
        name: Option<SettingName>,
        rule: &Rule,
    ) -> Result<Result<SettingName, RuleError>, ReadingError> {
        let value = match rule.value() {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        };
        // Articles that are here already are examined with the rules as they were.
        self.subscription_view().await?;
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        let rules = stored_rules(&loaded);
        let is_known = |name: &SettingName| rules.iter().any(|rule| rule.name == *name);
        let name = match name.filter(is_known) {
            Some(name) => name,
            None if rules.len() >= MAX_RULES => return Ok(Err(RuleError::TooMany)),
            None => {
                let random = self.endpoint.environment().random();
                let name = format!("{RULE_PREFIX}{:013}-{random:016x}", self.now().get()).parse();
                name.map_err(RuleError::TooLarge).unwrap_or_else(|_| unreachable!("it is short"))
            }
        };
        self.set(&mut loaded, &name, Some(&value)).await?;
        Ok(Ok(name))
    }

    /// Removes a rule; returns whether there was one. Marks that it made stay.
    pub async fn remove_rule(&self, name: &SettingName) -> Result<bool, ReadingError> {
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        let is_known = stored_rules(&loaded).iter().any(|rule| rule.name == *name);
        if is_known {
            self.set(&mut loaded, name, None).await?;
        }
        Ok(is_known)
    }

    /// Whether articles are hidden that the user already has in another feed.
    pub async fn hides_duplicates(&self) -> Result<bool, ReadingError> {
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        let setting = loaded.replica.state().setting(DUPLICATES_SETTING);
        Ok(setting.is_some_and(|value| value.json() == true))
    }

    /// Sets whether articles that arrive from now on are hidden if the user already has them in another feed.
    pub async fn set_hides_duplicates(&self, hides: bool) -> Result<(), ReadingError> {
        self.subscription_view().await?;
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        let value = SettingValue::new(&true.into()).ok().filter(|_| hides);
        match DUPLICATES_SETTING.parse() {
            Ok(name) => self.set(&mut loaded, &name, value.as_ref()).await,
            Err(_) => unreachable!("it is a name"),
        }
    }

    /// Compares a rule with the [newest](MAX_TRIED) articles of the feeds that it concerns, and marks nothing.
    pub async fn try_rule(
        &self,
        rule: &Rule,
    ) -> Result<Result<TriedRule, RuleError>, ReadingError> {
        let compiled = match CompiledRule::new(rule.clone(), Millis::new(0)) {
            Ok(compiled) => Arc::from([compiled]),
            Err(error) => return Ok(Err(error)),
        };
        let subscription_view = self.subscription_view().await?;
        let is_concerned = |feed: &&FeedView| {
            rule.feed.as_ref().is_none_or(|address| feed.subscription.address == *address)
        };
        let feeds = subscription_view.feeds().iter().filter(is_concerned).map(FeedView::number);
        let newest = Selection { feeds: feeds.collect(), most: MAX_TRIED, ..Selection::default() };
        let listed = self.library.list(newest).await?;
        let mut matching = BTreeSet::new();
        for batch in listed.chunks(BATCH) {
            let matches = self.compare(&subscription_view, &compiled, batch).await?;
            let matches = matches.into_iter().filter(|(_, actions)| !actions.is_empty());
            matching.extend(matches.map(|(article, _)| article.number));
        }
        let tried = listed.len();
        let matching = listed.into_iter().filter(|listed| matching.contains(&listed.number));
        Ok(Ok(TriedRule { tried, matching: matching.collect() }))
    }

    /// Shows hidden articles in lists again.
    pub(super) async fn unhide(&self, articles: &[ArticleNumber]) -> Result<(), ReadingError> {
        if self.subscription_view().await?.hidden().next().is_some() {
            self.each(articles, |article| Action::Unhide { article: article.name.clone() }).await?;
        }
        Ok(())
    }

    /// Applies the rules to the articles that arrived since the last time; returns whether anything was marked. Articles with
    /// marks of their own stay as they are. `loaded` has the current view.
    pub(super) async fn apply_rules(
        &self,
        loaded: &mut LoadedReading,
    ) -> Result<bool, ReadingError> {
        let rules = loaded.rules.rules(loaded.replica.state());
        let subscription_view = Arc::clone(&loaded.subscription_view);
        let feeds = subscription_view.feeds().iter();
        let feeds: Vec<_> = feeds.map(|feed| (feed.number(), feed.kept.fingerprint())).collect();
        if !loaded.rules.is_active() || !loaded.rules.is_behind(&feeds) {
            return Ok(false);
        }
        let now = self.now();
        let from = loaded.rules.begin(loaded.replica.state(), now);
        let mut above = self.library.before(from).await?;
        let examined = Arc::clone(&loaded.rules.examined);
        let is_listed_again = |number: &&ArticleNumber| above.is_none_or(|above| **number > above);
        let mut all: BTreeSet<_> = examined.iter().filter(is_listed_again).copied().collect();
        let (mut is_changed, mut until, mut is_complete) = (false, now, false);
        for _ in 0..MAX_BATCHES {
            let known = Arc::clone(&examined);
            let batch = Selection {
                feeds: feeds.iter().map(|(number, _)| *number).collect(),
                by_number: true,
                oldest_first: true,
                above,
                most: BATCH,
                keep: Some(Arc::new(move |listed| !known.contains(&listed.number))),
                ..Selection::default()
            };
            let listed = self.library.list(batch).await?;
            above = listed.last().map(|listed| listed.number).or(above);
            all.extend(listed.iter().map(|listed| listed.number));
            for (article, actions) in self.compare(&subscription_view, &rules, &listed).await? {
                until = article.received;
                let feed = subscription_view.feed(article.feed);
                let Some(feed) = feed.filter(|feed| !feed.state.has_marks(&article.name)) else {
                    continue;
                };
                let mut actions = actions;
                if loaded.rules.hides_duplicates(article.received)
                    && self.is_duplicate(loaded, &subscription_view, &article).await?
                {
                    actions.push(Action::Hide { article: article.name });
                }
                for action in actions {
                    is_changed |= loaded.replica.act(&feed.subscription.address, &action, now);
                }
            }
            if listed.len() < BATCH {
                (until, is_complete) = (now, true);
                break;
            }
        }
        let feeds = is_complete.then_some(feeds);
        let is_due = loaded.rules.note(loaded.replica.state(), all, until, feeds);
        if is_changed || is_due {
            let name = PROGRESS_SETTING.parse::<SettingName>();
            let value = SettingValue::new(&until.get().into());
            if let (Ok(name), Ok(value)) = (name, value) {
                loaded.replica.set(&name, Some(&value), now);
            }
            self.synchronise(loaded).await?;
        }
        Ok(is_changed)
    }

    /// Loads articles, and returns each with the actions of the rules that match it.
    async fn compare(
        &self,
        subscription_view: &SubscriptionView,
        rules: &Arc<[CompiledRule]>,
        listed: &[ListEntry],
    ) -> Result<Vec<(StoredArticle, Vec<Action>)>, ReadingError> {
        let numbers: Vec<_> = listed.iter().map(|listed| listed.number).collect();
        let articles = self.library.articles(&numbers).await?;
        let concerned = |article: &StoredArticle| {
            let feed = subscription_view.feed(article.feed);
            let address = feed.map(|feed| feed.subscription.address.clone());
            let rules = rules.iter().enumerate();
            let rules = rules.filter(|(_, rule)| rule.since <= article.received);
            let rules = rules.filter(|(_, rule)| rule.feed.is_none() || rule.feed == address);
            rules.map(|(place, _)| place).collect::<Vec<_>>()
        };
        let articles: Vec<_> =
            articles.into_iter().map(|article| (concerned(&article), article)).collect();
        let rules = Arc::clone(rules);
        // The semaphore is never closed.
        let _permit = COMPARISONS.acquire().await;
        let compared = tokio::task::spawn_blocking(move || {
            let compare = |(concerned, article): (Vec<usize>, StoredArticle)| {
                let parts = MatchedParts::from(article.text.clone());
                let rules = concerned.into_iter().map(|place| &rules[place]);
                let matching = rules.filter(|rule| rule.matches(&parts));
                let actions = matching.flat_map(|rule| actions(rule, &article)).collect();
                (article, actions)
            };
            articles.into_iter().map(compare).collect()
        });
        compared.await.map_err(|_| LibraryError::Decision.into())
    }

    /// Sets or removes a setting.
    async fn set(
        &self,
        loaded: &mut LoadedReading,
        name: &SettingName,
        value: Option<&SettingValue>,
    ) -> Result<(), ReadingError> {
        loaded.replica.set(name, value, self.now());
        if loaded.replica.waiting_count() > 0 {
            self.synchronise(loaded).await?;
        }
        Ok(())
    }
}

/// What a rule does to an article.
fn actions(rule: &CompiledRule, article: &StoredArticle) -> Vec<Action> {
    let name = || article.name.clone();
    let mut actions = Vec::new();
    if rule.actions.read {
        actions.push(Action::Read { article: name(), at: Some(article.sort_date) });
    }
    if rule.actions.star {
        actions.push(Action::Star { article: name() });
    }
    if rule.actions.hide {
        actions.push(Action::Hide { article: name() });
    }
    let tags = rule.actions.tags.iter().cloned();
    actions.extend(tags.map(|tag| Action::Tag { article: name(), tag }));
    actions
}

fn stored_rules(loaded: &LoadedReading) -> Vec<StoredRule> {
    let settings = loaded.replica.state().settings();
    let rules = settings.filter(|(name, ..)| name.as_str().starts_with(RULE_PREFIX));
    rules
        .map(|(name, value, _)| StoredRule { name: name.clone(), rule: Rule::read(value) })
        .collect()
}
