//! `/pages/reading/rules`: the rules for articles that arrive, and the articles that they hid.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_aggregator::{
    MAX_EXPRESSION_BYTES, MAX_RULES, Rule, RuleActions, RuleError, RulePart, RulePattern,
};
use feedsync_reader_api::ArticleNumber;
use feedsync_reading_state::{FeedAddress, SettingName, Tag};
use http::StatusCode;

use super::list::{List, ListSource};
use super::{home, reading, with};
use crate::access::call::Call;
use crate::http::html::content::short;
use crate::http::problem::Problem;
use crate::http::query::encoded;
use crate::hub::Hub;
use crate::pages::answer::{Frame, page, see_other, sentence};
use crate::pages::assets::READING;
use crate::pages::form::{Form, Posted};
use crate::pages::form_token::STALE;
use crate::reading::{Reading, Refusal};

/// Maximum number of hidden articles that are listed, the newest.
const MAX_HIDDEN: usize = 50;

/// Maximum number of articles that are listed for a rule that is tried.
const MAX_SHOWN: usize = 20;

/// The parts of an article, by the values of the form, with their names.
const PARTS: [(&str, RulePart, &str); 5] = [
    ("any", RulePart::Any, "Title, text, author or topic"),
    ("title", RulePart::Title, "Title"),
    ("text", RulePart::Text, "Text"),
    ("author", RulePart::Author, "Author"),
    ("topic", RulePart::Topic, "Topic of the feed"),
];

#[derive(Template)]
#[template(path = "rules.html")]
struct RulesPage {
    frame: Frame,
    script: &'static str,
    page: String,
    said: &'static str,
    rows: Vec<Row>,
    /// Values and names of the parts of articles.
    parts: Vec<(&'static str, &'static str)>,
    /// Addresses and titles of the feeds.
    feeds: Vec<(String, String)>,
    hides_duplicates: bool,
    hidden_count: usize,
    hidden: Vec<ArticleLink>,
    max_rules: usize,
    max_expression_bytes: usize,
    draft: Draft,
}

/// A stored rule.
struct Row {
    name: String,
    /// Address of this page with the rule in the form.
    edit: String,
    /// What it concerns and does, or why it is not applied.
    description: Result<Description, String>,
    is_active: bool,
}

struct Description {
    part: &'static str,
    patterns: Vec<String>,
    is_expression: bool,
    feed: Option<String>,
    actions: Vec<String>,
}

struct ArticleLink {
    title: String,
    page: String,
}

/// Input for a rule.
#[derive(Default)]
struct Draft {
    /// Name of the stored rule that it replaces; empty for a new one.
    name: String,
    feed: String,
    part: String,
    words: String,
    expression: String,
    read: bool,
    star: bool,
    hide: bool,
    tags: String,
    is_active: bool,
    error: String,
    /// Message above the form.
    notice: &'static str,
    /// Result of trying it.
    tried: Option<Tried>,
}

struct Tried {
    compared: usize,
    count: usize,
    articles: Vec<ArticleLink>,
}

impl Draft {
    fn new() -> Self {
        Self { is_active: true, ..Self::default() }
    }

    fn of(form: &Form) -> Self {
        Self {
            name: form.text("name").to_owned(),
            feed: form.text("feed").to_owned(),
            part: form.text("part").to_owned(),
            words: form.lines("words"),
            expression: form.text("expression").to_owned(),
            read: form.has("read"),
            star: form.has("star"),
            hide: form.has("hide"),
            tags: form.text("tags").to_owned(),
            is_active: form.has("active"),
            ..Self::default()
        }
    }

    fn of_rule(name: String, rule: &Rule) -> Self {
        let (words, expression) = match &rule.pattern {
            RulePattern::Words(words) => (words.join("\n"), String::new()),
            RulePattern::Expression(expression) => (String::new(), expression.clone()),
        };
        let RuleActions { read, star, hide, tags } = &rule.actions;
        let tags: Vec<_> = tags.iter().map(Tag::as_str).collect();
        Self {
            name,
            feed: rule.feed.as_ref().map(ToString::to_string).unwrap_or_default(),
            part: part(rule.part).0.to_owned(),
            words,
            expression,
            read: *read,
            star: *star,
            hide: *hide,
            tags: tags.join(", "),
            is_active: rule.is_active,
            ..Self::default()
        }
    }

    /// The rule that was typed, or a description of the fault.
    fn rule(&self) -> Result<Rule, String> {
        let feed = Some(&self.feed).filter(|feed| !feed.is_empty());
        let feed = feed.map(|feed| feed.parse::<FeedAddress>()).transpose().map_err(sentence)?;
        let part = PARTS.iter().find(|(value, ..)| *value == self.part);
        let words: Vec<String> = self.words.lines().map(|line| line.trim().to_owned()).collect();
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let pattern = match (words.is_empty(), self.expression.is_empty()) {
            (false, false) => {
                return Err("Enter words or a regular expression, not both.".to_owned());
            }
            (true, false) => RulePattern::Expression(self.expression.clone()),
            _ => RulePattern::Words(words),
        };
        let tags = self.tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
        let tags = tags.map(|tag| tag.parse::<Tag>().map_err(sentence));
        let tags = tags.collect::<Result<Vec<_>, _>>()?;
        let (read, star, hide) = (self.read, self.star, self.hide);
        let rule = Rule {
            feed,
            part: part.map(|(_, part, _)| *part).unwrap_or_default(),
            pattern,
            actions: RuleActions { read, star, hide, tags },
            is_active: self.is_active,
        };
        rule.check().map(|()| rule).map_err(sentence)
    }

    fn with_error(self, error: impl std::fmt::Display) -> Self {
        Self { error: sentence(error), ..self }
    }
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let name = call.query.text("rule").and_then(|name| name.parse::<SettingName>().ok());
    let draft = match name {
        None => Draft::new(),
        Some(name) => {
            let reading = reading(&hub, &call).await?;
            let rules = reading.person.rules().await.map_err(Refusal::from)?;
            let rule = rules.into_iter().find(|rule| rule.name == name);
            let rule = rule.and_then(|rule| rule.rule.ok());
            let rule = rule.ok_or_else(|| Problem::not_found("there is no such rule"))?;
            Draft::of_rule(name.to_string(), &rule)
        }
    };
    shown(&hub, &call, draft, StatusCode::OK).await
}

/// `POST`: saves, tries, stops, starts or deletes a rule, or sets whether an article is shown once.
pub(crate) async fn change(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let posted = Posted::read(&hub, &call, body).await?;
    let reading = reading(&hub, &call).await?;
    let form = match &posted {
        Posted::Genuine(form) => form,
        Posted::Foreign(form) => {
            let draft = Draft { error: STALE.to_owned(), ..Draft::of(form) };
            return shown(&hub, &call, draft, StatusCode::FORBIDDEN).await;
        }
    };
    let said = match form.text("action") {
        action @ ("save" | "try") => {
            let draft = Draft::of(form);
            let outcome = match draft.rule() {
                Ok(rule) if action == "try" => return tried(&hub, &call, draft, &rule).await,
                Ok(rule) => {
                    let name = draft.name.parse().ok();
                    let saved = reading.person.set_rule(name, &rule).await;
                    saved.map_err(Refusal::from)?.map_err(sentence)
                }
                Err(error) => Err(error),
            };
            if let Err(error) = outcome {
                let draft = Draft { error, ..draft };
                return shown(&hub, &call, draft, StatusCode::UNPROCESSABLE_ENTITY).await;
            }
            "saved"
        }
        action @ ("start" | "stop") => {
            let (name, rule) = stored(&reading, form).await?;
            let rule = rule.map_err(|error| Problem::bad_request(error.to_string()))?;
            let rule = Rule { is_active: action == "start", ..rule };
            let set = reading.person.set_rule(Some(name), &rule).await.map_err(Refusal::from)?;
            set.map_err(|error| Problem::bad_request(error.to_string()))?;
            if action == "start" { "started" } else { "stopped" }
        }
        "duplicates" => {
            let hides = form.has("hide-duplicates");
            reading.person.set_hides_duplicates(hides).await.map_err(Refusal::from)?;
            if hides { "once" } else { "each" }
        }
        "delete" => {
            let (name, rule) = stored(&reading, form).await?;
            reading.person.remove_rule(&name).await.map_err(Refusal::from)?;
            let Ok(rule) = rule else {
                return see_other(&with(&address(call.base.path()), "said", "deleted"));
            };
            // The form has what was deleted, so that saving it undoes this.
            let draft = Draft::of_rule(String::new(), &rule);
            let notice =
                "The rule was deleted. Its marks stay. To restore it, save the form below.";
            let draft = Draft { notice, ..draft };
            return shown(&hub, &call, draft, StatusCode::OK).await;
        }
        _ => return Err(Problem::bad_request("the form has no such action")),
    };
    see_other(&with(&address(call.base.path()), "said", said))
}

/// Address of this page.
pub(super) fn address(root: &str) -> String {
    format!("{}/rules", home(root))
}

/// The stored rule that a form names.
async fn stored(
    reading: &Reading,
    form: &Form,
) -> Result<(SettingName, Result<Rule, RuleError>), Problem> {
    let rules = reading.person.rules().await.map_err(Refusal::from)?;
    let rule = rules.into_iter().find(|rule| rule.name.as_str() == form.text("name"));
    let rule = rule.ok_or_else(|| Problem::not_found("there is no such rule"))?;
    Ok((rule.name, rule.rule))
}

/// Shows which articles a rule would concern.
async fn tried(hub: &Hub, call: &Call, draft: Draft, rule: &Rule) -> Result<Response, Problem> {
    let reading = reading(hub, call).await?;
    let result = match reading.person.try_rule(rule).await.map_err(Refusal::from)? {
        Ok(result) => result,
        Err(error) => {
            let draft = draft.with_error(error);
            return shown(hub, call, draft, StatusCode::UNPROCESSABLE_ENTITY).await;
        }
    };
    let numbers = result.matching.iter().take(MAX_SHOWN).map(|listed| listed.number).collect();
    let articles = links(&reading, call.base.path(), numbers).await?;
    let tried = Tried { compared: result.tried, count: result.matching.len(), articles };
    shown(hub, call, Draft { tried: Some(tried), ..draft }, StatusCode::OK).await
}

async fn shown(
    hub: &Hub,
    call: &Call,
    draft: Draft,
    status: StatusCode,
) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let reading = reading(hub, call).await?;
    let frame = Frame::of(hub, call).await?;
    let rules = reading.person.rules().await.map_err(Refusal::from)?;
    let page_address = address(&frame.root);
    let mut hidden: Vec<_> = reading.subscription_view.hidden().collect();
    let hidden_count = hidden.len();
    hidden.sort_unstable_by(|one, other| other.cmp(one));
    hidden.truncate(MAX_HIDDEN);
    let feeds = reading.subscription_view.feeds().iter();
    let feed = |feed: &feedsync_aggregator::FeedView| {
        (feed.subscription.address.to_string(), short(feed.title(), 120))
    };
    let rows = rules.into_iter().map(|rule| {
        let name = rule.name.to_string();
        Row {
            edit: with(&page_address, "rule", &encoded(&name)),
            name,
            is_active: rule.rule.as_ref().is_ok_and(|rule| rule.is_active),
            description: rule.rule.map(|rule| describe(&reading, &rule)).map_err(sentence),
        }
    });
    let shown = RulesPage {
        script: &READING.name,
        said: match call.query.text("said").unwrap_or_default() {
            "saved" => "The rule was saved. It concerns articles that arrive from now on.",
            "started" => "The rule is applied to articles that arrive from now on.",
            "stopped" => "The rule is not applied any more.",
            "deleted" => "The rule was deleted.",
            "once" => "Articles that you have in another feed are hidden from now on.",
            "each" => "Articles are shown in each feed.",
            _ => "",
        },
        rows: rows.collect(),
        parts: PARTS.iter().map(|(value, _, name)| (*value, *name)).collect(),
        feeds: feeds.map(feed).collect(),
        hides_duplicates: reading.person.hides_duplicates().await.map_err(Refusal::from)?,
        hidden_count,
        hidden: links(&reading, &frame.root, hidden).await?,
        max_rules: MAX_RULES,
        max_expression_bytes: MAX_EXPRESSION_BYTES,
        page: page_address,
        draft,
        frame,
    };
    page(permit, call, status, move || shown).await
}

fn part(part: RulePart) -> (&'static str, &'static str) {
    let known = PARTS.iter().find(|(_, known, _)| *known == part);
    known.map_or(("any", ""), |(value, _, name)| (value, name))
}

fn describe(reading: &Reading, rule: &Rule) -> Description {
    let (patterns, is_expression) = match &rule.pattern {
        RulePattern::Words(words) => (words.clone(), false),
        RulePattern::Expression(expression) => (vec![expression.clone()], true),
    };
    let feed = rule.feed.as_ref().map(|address| {
        let feed = reading.subscription_view.feed_at(address);
        feed.map_or_else(|| address.to_string(), |feed| short(feed.title(), 120))
    });
    let RuleActions { read, star, hide, tags } = &rule.actions;
    let mut actions = Vec::new();
    for (is_set, text) in [(read, "mark as read"), (star, "star"), (hide, "hide")] {
        if *is_set {
            actions.push(text.to_owned());
        }
    }
    actions.extend(tags.iter().map(|tag| format!("tag with {tag}")));
    Description { part: part(rule.part).1, patterns, is_expression, feed, actions }
}

/// Titles and pages of articles, in the order of the numbers.
async fn links(
    reading: &Reading,
    root: &str,
    numbers: Vec<ArticleNumber>,
) -> Result<Vec<ArticleLink>, Problem> {
    let library = reading.newsreading.readers.library();
    let articles = library.articles(&numbers).await.map_err(Refusal::from)?;
    let list = List::new(ListSource::All);
    let link = |article: feedsync_aggregator::StoredArticle| {
        let title = short(article.text.title.as_deref().unwrap_or_default(), 200);
        let title = if title.is_empty() { "(untitled)".to_owned() } else { title };
        ArticleLink { title, page: list.article(root, article.number) }
    };
    Ok(articles.into_iter().map(link).collect())
}
