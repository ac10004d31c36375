//! The rules of a user: shown, changed, tried, and applied to the articles that arrive.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use feedsync_log::Millis;
use feedsync_reading_state::{Action, FeedAddress, SettingName, SettingValue};
use tokio::sync::Semaphore;

use crate::library::{LibraryError, ListEntry, Selection, StoredArticle};
use crate::reading::person::{LoadedReading, Person, ReadingError};
use crate::reading::subscription_view::{FeedView, SubscriptionView};
use crate::rules::{
    CompiledRule, DUPLICATES_SETTING, MAX_RULES, MatchedParts, PROGRESS_SETTING, RULE_PREFIX, Rule,
    RuleError,
};

/// Number of articles that are loaded and compared at once.
pub(super) const BATCH: usize = 50;

/// Maximum number of batches before a request is answered; later articles are examined for the next request.
const MAX_BATCHES: usize = 100;

/// Maximum time of the comparisons of a batch, and of those before a request is answered. Later articles are examined for the
/// next request.
const MAX_BATCH_TIME: Duration = Duration::from_secs(1);
const MAX_TIME: Duration = Duration::from_secs(5);

/// Number of articles with which a rule is tried, the newest.
pub const MAX_TRIED: usize = 500;

/// Comparisons of all users that may run at once, so that they leave processors for requests.
static COMPARISONS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(2)));

/// A rule of a user, or why a setting is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRule {
    /// Name of the setting.
    pub name: SettingName,
    /// The rule.
    pub rule: Result<Rule, RuleError>,
}

/// Rules to compare articles with.
struct Comparison {
    rules: Arc<[CompiledRule]>,
    /// The current address of the feed that each rule concerns.
    feeds: Vec<Option<FeedAddress>>,
    /// Whether articles with marks of the user are compared, too.
    includes_marked: bool,
}

impl Comparison {
    fn new(loaded: &LoadedReading, rules: Arc<[CompiledRule]>, includes_marked: bool) -> Self {
        let view = loaded.replica.state().view();
        let current =
            |rule: &CompiledRule| rule.feed.as_ref().map(|feed| view.address(feed).clone());
        let feeds = rules.iter().map(current).collect();
        Self { rules, feeds, includes_marked }
    }

    /// Whether a rule concerns a feed.
    fn concerns(&self, rule: usize, feed: &FeedAddress) -> bool {
        self.feeds[rule].as_ref().is_none_or(|concerned| concerned == feed)
    }
}

/// Result of trying a rule.
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
        let rule = Rule { since: Some(self.now()), ..rule.clone() };
        let value = match rule.check().and_then(|()| rule.value()) {
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
        Ok(setting.is_some())
    }

    /// Sets whether articles that arrive from now on are hidden if the user already has them in another feed.
    pub async fn set_hides_duplicates(&self, hides: bool) -> Result<(), ReadingError> {
        self.subscription_view().await?;
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        let value = SettingValue::new(&self.now().get().into()).ok().filter(|_| hides);
        match DUPLICATES_SETTING.parse() {
            Ok(name) => self.set(&mut loaded, &name, value.as_ref()).await,
            Err(_) => unreachable!("it is a name"),
        }
    }

    /// Compares a rule with the [newest](MAX_TRIED) articles of the feeds that it concerns, and marks nothing. It compares fewer if
    /// the rule takes long.
    pub async fn try_rule(
        &self,
        rule: &Rule,
    ) -> Result<Result<TriedRule, RuleError>, ReadingError> {
        let rule = Rule { since: None, ..rule.clone() };
        let compiled = match rule.check().and_then(|()| CompiledRule::new(rule, Millis::new(0))) {
            Ok(compiled) => Arc::from([compiled]),
            Err(error) => return Ok(Err(error)),
        };
        let subscription_view = self.subscription_view().await?;
        // One comparison of a user runs at a time.
        let loaded = self.loaded.lock().await;
        let comparison = Comparison::new(&loaded, compiled, true);
        let is_concerned = |feed: &&FeedView| comparison.concerns(0, &feed.subscription.address);
        let feeds = subscription_view.feeds().iter().filter(is_concerned).map(FeedView::number);
        let newest = Selection { feeds: feeds.collect(), most: MAX_TRIED, ..Selection::default() };
        let listed = self.library.list(newest).await?;
        let begin = Instant::now();
        let (mut tried, mut matching) = (0, BTreeSet::new());
        for batch in listed.chunks(BATCH) {
            let matches = self.compare(&subscription_view, &comparison, batch).await?;
            tried += matches.len();
            let is_complete = matches.len() == batch.len() && begin.elapsed() < MAX_TIME;
            let matches = matches.into_iter().filter(|(_, actions)| !actions.is_empty());
            matching.extend(matches.map(|(article, _)| article.number));
            if !is_complete {
                break;
            }
        }
        let matching = listed.into_iter().filter(|listed| matching.contains(&listed.number));
        Ok(Ok(TriedRule { tried, matching: matching.collect() }))
    }

    /// Applies the rules to the articles that arrived since the last time; returns whether anything was marked. Articles with
    /// marks of their own stay as they are. `loaded` has the current view.
    pub(super) async fn apply_rules(
        &self,
        loaded: &mut LoadedReading,
    ) -> Result<bool, ReadingError> {
        if let Some(settings) = loaded.rules.changed(loaded.replica.state()) {
            let compiled = tokio::task::spawn_blocking(move || (settings.compile(), settings));
            let (compiled, settings) = compiled.await.map_err(|_| LibraryError::Decision)?;
            loaded.rules.set(settings, compiled);
        }
        if !loaded.rules.is_active() {
            return Ok(false);
        }
        let subscription_view = Arc::clone(&loaded.subscription_view);
        let feeds = subscription_view.feeds().iter();
        let feeds: Vec<_> = feeds.map(|feed| (feed.number(), feed.kept.fingerprint())).collect();
        if !loaded.rules.is_behind(&feeds) {
            return Ok(false);
        }
        let (now, begin) = (self.now(), Instant::now());
        let from = loaded.rules.begin(loaded.replica.state(), now);
        let mut above = self.library.before(from).await?;
        loaded.rules.forget_up_to(above);
        let comparison = Comparison::new(loaded, loaded.rules.rules(), false);
        let (mut is_changed, mut is_due) = (false, false);
        for _ in 0..MAX_BATCHES {
            let known = Arc::clone(&loaded.rules.examined);
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
            let compared = self.compare(&subscription_view, &comparison, &listed).await?;
            let is_last = listed.len() < BATCH && compared.len() == listed.len();
            let until = compared.last().map_or(now, |(article, _)| article.received);
            let numbers: Vec<_> = compared.iter().map(|(article, _)| article.number).collect();
            above = numbers.last().copied().or(above);
            for (article, actions) in compared {
                is_changed |= self.apply(loaded, &subscription_view, article, actions).await?;
            }
            let (until, feeds) = if is_last { (now, Some(feeds.clone())) } else { (until, None) };
            is_due |= loaded.rules.note(loaded.replica.state(), &numbers, until, feeds);
            if is_last || begin.elapsed() > MAX_TIME {
                break;
            }
        }
        if is_changed || is_due {
            let name = PROGRESS_SETTING.parse::<SettingName>();
            let value = SettingValue::new(&loaded.rules.until().unwrap_or(now).get().into());
            if let (Ok(name), Ok(value)) = (name, value) {
                loaded.replica.set(&name, Some(&value), now);
            }
            self.synchronise(loaded).await?;
        }
        Ok(is_changed)
    }

    /// Marks an article as rules demand; returns whether anything changed.
    async fn apply(
        &self,
        loaded: &mut LoadedReading,
        subscription_view: &SubscriptionView,
        article: StoredArticle,
        mut actions: Vec<Action>,
    ) -> Result<bool, ReadingError> {
        let Some(feed) = subscription_view.feed(article.feed) else { return Ok(false) };
        if feed.state.has_marks(&article.name) {
            return Ok(false);
        }
        if loaded.rules.hides_duplicates(article.received)
            && self.is_duplicate(loaded, subscription_view, &article).await?
        {
            actions.push(Action::Hide { article: article.name });
        }
        let (now, address) = (self.now(), &feed.subscription.address);
        let changed = actions.iter().filter(|action| loaded.replica.act(address, action, now));
        Ok(changed.count() > 0)
    }

    /// Loads articles, and returns each with the actions of the rules that match it; only the first of them if the comparisons take
    /// long.
    async fn compare(
        &self,
        subscription_view: &SubscriptionView,
        comparison: &Comparison,
        listed: &[ListEntry],
    ) -> Result<Vec<(StoredArticle, Vec<Action>)>, ReadingError> {
        let numbers: Vec<_> = listed.iter().map(|listed| listed.number).collect();
        let articles = self.library.articles(&numbers).await?;
        let concerned = |article: &StoredArticle| {
            let feed = subscription_view.feed(article.feed);
            let is_compared = |feed: &&FeedView| {
                comparison.includes_marked || !feed.state.has_marks(&article.name)
            };
            let feed = feed.filter(is_compared);
            let Some(feed) = feed else { return Vec::new() };
            let rules = comparison.rules.iter().enumerate();
            let rules = rules.filter(|(_, rule)| rule.since < article.received);
            let places = rules.map(|(place, _)| place);
            places
                .filter(|place| comparison.concerns(*place, &feed.subscription.address))
                .collect::<Vec<_>>()
        };
        let articles: Vec<_> =
            articles.into_iter().map(|article| (concerned(&article), article)).collect();
        let rules = Arc::clone(&comparison.rules);
        // The permit stays with the comparisons if the request ends before them. The semaphore is never closed.
        let permit = Arc::clone(&*COMPARISONS).acquire_owned().await;
        let compared = tokio::task::spawn_blocking(move || {
            let (_permit, begin) = (permit, Instant::now());
            let mut compared = Vec::new();
            for (concerned, article) in articles {
                if !compared.is_empty() && begin.elapsed() > MAX_BATCH_TIME {
                    break;
                }
                let parts = MatchedParts::from(article.text.clone());
                let rules = concerned.into_iter().map(|place| &rules[place]);
                let matching = rules.filter(|rule| rule.matches(&parts));
                let actions = matching.flat_map(|rule| actions(rule, &article)).collect();
                compared.push((article, actions));
            }
            compared
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

/// Returns the actions of a rule on an article.
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

/// The rules of a user. Those beyond the maximum number are not applied.
fn stored_rules(loaded: &LoadedReading) -> Vec<StoredRule> {
    let settings = loaded.replica.state().settings();
    let rules = settings.filter(|(name, ..)| name.as_str().starts_with(RULE_PREFIX));
    let mut applied = 0;
    let stored = rules.map(|(name, value, _)| {
        let rule = Rule::read(value).and_then(|rule| rule.check().map(|()| rule));
        applied += usize::from(rule.as_ref().is_ok_and(|rule| rule.is_active));
        let rule = if applied > MAX_RULES { Err(RuleError::TooMany) } else { rule };
        StoredRule { name: name.clone(), rule }
    });
    stored.collect()
}
