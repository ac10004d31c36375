//! A rule as data, and as the value of a setting.

use feedsync_reading_state::{FeedAddress, SettingError, SettingValue, Tag};
use serde::{Deserialize, Serialize};

use super::matcher;

/// Maximum number of rules that are applied; further ones, in the order of their names, are not.
pub const MAX_RULES: usize = 100;

/// Maximum number of words of a rule.
pub const MAX_RULE_WORDS: usize = 100;

/// Maximum length of a word or phrase of a rule, in bytes.
pub const MAX_RULE_WORD_BYTES: usize = 200;

/// Maximum length of a regular expression, in bytes.
pub const MAX_EXPRESSION_BYTES: usize = 1_000;

/// Start of the names of the settings that are rules.
pub(crate) const RULE_PREFIX: &str = "rule/";

/// Name of the setting with the time up to which rules were applied, in milliseconds.
pub(crate) const PROGRESS_SETTING: &str = "rules-applied";

/// Name of the setting whether articles that the user has in another feed are hidden.
pub(crate) const DUPLICATES_SETTING: &str = "hide-duplicates";

/// A rule: the articles that it concerns, and what happens to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Feed whose articles are concerned; `None` for all feeds.
    pub feed: Option<FeedAddress>,
    /// Part of the articles that is compared.
    pub part: RulePart,
    /// What that part must contain.
    pub pattern: RulePattern,
    /// What happens to matching articles.
    pub actions: RuleActions,
    /// Whether the rule is applied.
    pub is_active: bool,
}

/// A part of an article.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RulePart {
    /// Title, text, author and topics.
    #[default]
    Any,
    /// Title.
    Title,
    /// Text without markup.
    Text,
    /// Name of the author.
    Author,
    /// Topics, as the feed names them; each is compared alone.
    Topic,
}

/// What a part of an article must contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulePattern {
    /// One of these words or phrases. Case is ignored, and only whole words match. In scripts that do not separate words,
    /// parts of the text match.
    Words(Vec<String>),
    /// A match of a regular expression. Case is ignored.
    Expression(String),
}

/// What happens to matching articles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleActions {
    /// Whether they are marked as read.
    pub read: bool,
    /// Whether they get a star.
    pub star: bool,
    /// Whether they are hidden: left out of lists, and counted as read.
    pub hide: bool,
    /// Tags that they get.
    pub tags: Vec<Tag>,
}

/// Why a rule cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The setting is not a rule that this version knows.
    #[error("this version does not know such rules: {0}")]
    Unknown(String),
    /// There is nothing to compare with.
    #[error("a rule needs a word or a regular expression")]
    NoPattern,
    /// There are too many words.
    #[error("a rule can have at most {MAX_RULE_WORDS} words or phrases")]
    TooManyWords,
    /// A word is too long.
    #[error("a word or phrase can have at most {MAX_RULE_WORD_BYTES} bytes: {0:?}")]
    LongWord(String),
    /// The regular expression is not valid or too large.
    #[error("the regular expression cannot be used: {0}")]
    Expression(String),
    /// Nothing happens to matching articles.
    #[error("a rule needs an action")]
    NoAction,
    /// The rule as a whole is too large.
    #[error("the rule is too large: {0}")]
    TooLarge(#[from] SettingError),
    /// The user has the maximum number of rules.
    #[error("there can be at most {MAX_RULES} rules")]
    TooMany,
}

/// The value of a setting. A later version may have further members; a rule with an unknown member is not applied,
/// since it could mean the opposite.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Json {
    #[serde(default)]
    feed: Option<String>,
    part: RulePart,
    #[serde(default)]
    words: Option<Vec<String>>,
    #[serde(default)]
    expression: Option<String>,
    #[serde(default)]
    read: bool,
    #[serde(default)]
    star: bool,
    #[serde(default)]
    hide: bool,
    #[serde(default)]
    tags: Vec<Tag>,
    active: bool,
}

impl Rule {
    /// Parses the value of a setting.
    pub fn read(value: &SettingValue) -> Result<Self, RuleError> {
        let unknown = |error: &dyn std::fmt::Display| RuleError::Unknown(error.to_string());
        let json = serde_json::from_value(value.json()).map_err(|error| unknown(&error))?;
        let Json { feed, part, words, expression, read, star, hide, tags, active } = json;
        let feed = feed.map(|feed| feed.parse()).transpose().map_err(|error| unknown(&error))?;
        let pattern = match (words, expression) {
            (Some(words), None) => RulePattern::Words(words),
            (None, Some(expression)) => RulePattern::Expression(expression),
            _ => return Err(unknown(&"words or an expression, not both")),
        };
        let actions = RuleActions { read, star, hide, tags };
        Ok(Self { feed, part, pattern, actions, is_active: active })
    }

    /// The value of a setting for this rule, if the rule is valid.
    pub fn value(&self) -> Result<SettingValue, RuleError> {
        self.check()?;
        let (words, expression) = match self.pattern.clone() {
            RulePattern::Words(words) => (Some(words), None),
            RulePattern::Expression(expression) => (None, Some(expression)),
        };
        let RuleActions { read, star, hide, tags } = &self.actions;
        let tags: Vec<_> = tags.iter().map(Tag::as_str).collect();
        let mut json = serde_json::json!({
            "part": self.part, "read": read, "star": star, "hide": hide, "tags": tags, "active": self.is_active,
        });
        let members = [
            ("feed", self.feed.as_ref().map(|feed| feed.as_str().into())),
            ("words", words.map(serde_json::Value::from)),
            ("expression", expression.map(serde_json::Value::from)),
        ];
        for (name, value) in members {
            if let Some(value) = value {
                json[name] = value;
            }
        }
        Ok(SettingValue::new(&json)?)
    }

    /// Checks the rule.
    pub fn check(&self) -> Result<(), RuleError> {
        match &self.pattern {
            RulePattern::Words(words) if words.len() > MAX_RULE_WORDS => {
                return Err(RuleError::TooManyWords);
            }
            RulePattern::Words(words) => {
                if let Some(long) = words.iter().find(|word| word.len() > MAX_RULE_WORD_BYTES) {
                    return Err(RuleError::LongWord(long.clone()));
                }
                if words.iter().all(|word| word.trim().is_empty()) {
                    return Err(RuleError::NoPattern);
                }
            }
            RulePattern::Expression(expression) if expression.is_empty() => {
                return Err(RuleError::NoPattern);
            }
            RulePattern::Expression(expression) if expression.len() > MAX_EXPRESSION_BYTES => {
                let message = format!("it can have at most {MAX_EXPRESSION_BYTES} bytes");
                return Err(RuleError::Expression(message));
            }
            RulePattern::Expression(_) => {}
        }
        matcher::compile(&self.pattern)?;
        match self.actions == RuleActions::default() {
            true => Err(RuleError::NoAction),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(pattern: RulePattern) -> Rule {
        let actions = RuleActions { hide: true, ..RuleActions::default() };
        Rule { feed: None, part: RulePart::Any, pattern, actions, is_active: true }
    }

    fn words(words: &[&str]) -> RulePattern {
        RulePattern::Words(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn rules_round_trip() {
        for rule in [
            rule(words(&["a", "two words", "广告"])),
            Rule {
                feed: Some("https://a.example/feed".parse().unwrap()),
                part: RulePart::Topic,
                actions: RuleActions {
                    read: true,
                    star: true,
                    hide: false,
                    tags: vec!["later".parse().unwrap()],
                },
                is_active: false,
                ..rule(RulePattern::Expression("^(a|b)+$".to_owned()))
            },
        ] {
            assert_eq!(Rule::read(&rule.value().unwrap()), Ok(rule));
        }
    }

    #[test]
    fn faults_are_named() {
        let long = "x".repeat(MAX_RULE_WORD_BYTES + 1);
        let many = vec!["x"; MAX_RULE_WORDS + 1];
        let fault = |pattern| rule(pattern).value().unwrap_err();
        assert_eq!(fault(words(&[])), RuleError::NoPattern);
        assert_eq!(fault(words(&[" "])), RuleError::NoPattern);
        assert_eq!(fault(words(&many)), RuleError::TooManyWords);
        assert_eq!(fault(words(&[&long])), RuleError::LongWord(long.clone()));
        assert_eq!(fault(RulePattern::Expression(String::new())), RuleError::NoPattern);
        for expression in
            ["(", "a{1000}{1000}", "\\p{L}{900}", &"x".repeat(1_001), &"(".repeat(500)]
        {
            let error = fault(RulePattern::Expression(expression.to_owned()));
            assert!(matches!(error, RuleError::Expression(_)), "{expression}: {error}");
        }
        let idle = Rule { actions: RuleActions::default(), ..rule(words(&["x"])) };
        assert_eq!(idle.value(), Err(RuleError::NoAction));
        let wide: Vec<_> = (0..MAX_RULE_WORDS).map(|n| format!("{n}{}", "x".repeat(190))).collect();
        assert!(matches!(fault(RulePattern::Words(wide)), RuleError::TooLarge(_)));
    }

    #[test]
    fn rules_of_later_versions_are_not_applied() {
        let valid = json!({"part": "any", "words": ["a"], "hide": true, "active": true});
        let read = |json: &serde_json::Value| Rule::read(&SettingValue::new(json).unwrap());
        assert!(read(&valid).is_ok());
        for (name, value) in [
            ("unless", json!(["b"])),
            ("part", json!("link")),
            ("expression", json!("a")),
            ("feed", json!("no address")),
            ("tags", json!([""])),
        ] {
            let mut other = valid.clone();
            other[name] = value;
            assert!(matches!(read(&other), Err(RuleError::Unknown(_))), "{other}");
        }
        assert!(matches!(read(&json!(7)), Err(RuleError::Unknown(_))));
    }
}
