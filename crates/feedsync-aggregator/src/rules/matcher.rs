//! Compares articles with rules, in time that is linear in the length of the text.

use feedsync_formats::Entry;
use feedsync_log::Millis;
use feedsync_reading_state::FeedAddress;
use regex::{Regex, RegexBuilder};

use super::rule::{Rule, RuleActions, RuleError, RulePart, RulePattern};
use crate::library::ArticleText;

/// Maximum length of the text of an article that is compared, in bytes; of longer ones, the beginning is.
const MAX_MATCHED_BYTES: usize = 32 << 10;

/// Maximum size of a compiled expression, and of the cache of its search, in bytes.
const MAX_COMPILED_BYTES: usize = 512 << 10;

/// Maximum nesting of groups in an expression.
const MAX_GROUPS: u32 = 50;

/// Characters of scripts that do not separate words.
const UNSPACED: &str =
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}";

/// A rule that is ready to be compared with articles.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) feed: Option<FeedAddress>,
    pub(crate) actions: RuleActions,
    /// Time at which the user made or changed the rule. Articles that arrived before are not concerned.
    pub(crate) since: Millis,
    part: RulePart,
    expression: Regex,
}

impl CompiledRule {
    pub(crate) fn new(rule: Rule, since: Millis) -> Result<Self, RuleError> {
        rule.check()?;
        let expression = compile(&rule.pattern)?;
        let Rule { feed, part, actions, .. } = rule;
        Ok(Self { feed, actions, since, part, expression })
    }

    pub(crate) fn matches(&self, article: &MatchedParts) -> bool {
        let is_match = |text: &str| self.expression.is_match(text);
        let MatchedParts { title, text, author, topics } = article;
        let is_topic = || topics.iter().any(|topic| is_match(topic));
        match self.part {
            RulePart::Any => is_match(title) || is_match(author) || is_topic() || is_match(text),
            RulePart::Title => is_match(title),
            RulePart::Text => is_match(text),
            RulePart::Author => is_match(author),
            RulePart::Topic => is_topic(),
        }
    }
}

/// The parts of an article that rules compare.
#[derive(Debug)]
pub(crate) struct MatchedParts {
    title: String,
    text: String,
    author: String,
    topics: Vec<String>,
}

impl From<ArticleText> for MatchedParts {
    fn from(text: ArticleText) -> Self {
        let ArticleText { title, author, content, content_type, summary, categories, .. } = text;
        let entry = Entry { content, content_type, ..Entry::default() };
        let mut text = entry.plain_content().or(summary).unwrap_or_default();
        text.truncate(text.floor_char_boundary(MAX_MATCHED_BYTES));
        let (title, author) = (title.unwrap_or_default(), author.unwrap_or_default());
        Self { title, text, author, topics: categories }
    }
}

/// Compiles a pattern.
pub(super) fn compile(pattern: &RulePattern) -> Result<Regex, RuleError> {
    let expression = match pattern {
        RulePattern::Words(words) => words_expression(words),
        RulePattern::Expression(expression) => expression.clone(),
    };
    let mut builder = RegexBuilder::new(&expression);
    builder.case_insensitive(true).nest_limit(MAX_GROUPS);
    builder.size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_COMPILED_BYTES);
    builder.build().map_err(|error| RuleError::Expression(error.to_string()))
}

/// An expression that matches one of these words or phrases.
fn words_expression(words: &[String]) -> String {
    let mut alternatives = Vec::new();
    for word in words.iter().filter(|word| !word.trim().is_empty()) {
        let parts: Vec<_> = word.split_whitespace().map(regex::escape).collect();
        let phrase = parts.join(r"\s+");
        let ends = [word.trim().chars().next(), word.trim().chars().next_back()];
        let [begin, end] = ends.map(|end| end.is_some_and(needs_boundary));
        let boundary = format!(r"[^\p{{L}}\p{{N}}\p{{M}}]|[{UNSPACED}]");
        let before = if begin { format!("(?:^|{boundary})") } else { String::new() };
        let after = if end { format!("(?:$|{boundary})") } else { String::new() };
        alternatives.push(format!("{before}{phrase}{after}"));
    }
    alternatives.join("|")
}

/// Whether a word ends where another character follows: not in scripts without blanks, and not at punctuation.
fn needs_boundary(character: char) -> bool {
    let is_unspaced = matches!(character,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3130}'..='\u{318f}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}');
    character.is_alphanumeric() && !is_unspaced
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: RulePattern, part: RulePart, article: ArticleText) -> bool {
        let actions = RuleActions { read: true, ..RuleActions::default() };
        let rule = Rule { feed: None, part, pattern, actions, is_active: true };
        CompiledRule::new(rule, Millis::new(0)).unwrap().matches(&article.into())
    }

    fn titled(title: &str) -> ArticleText {
        ArticleText { title: Some(title.to_owned()), ..ArticleText::default() }
    }

    fn word(word: &str, title: &str) -> bool {
        matches(RulePattern::Words(vec![word.to_owned()]), RulePart::Title, titled(title))
    }

    #[test]
    fn whole_words_match_in_any_case() {
        for (pattern, title, is_match) in [
            ("rust", "Rust 2.0", true),
            ("rust", "rusty", false),
            ("rust", "trust", false),
            ("rust", "(RUST)", true),
            ("straße", "STRAßE 5", true),
            ("c++", "About C++ and C", true),
            ("c++", "abc++d", false),
            ("c", "C++", true),
            (".net", "ASP.NET core", true),
            ("two words", "Two\u{a0} WORDS", true),
            ("two words", "two other words", false),
            ("a.b", "axb", false),
            ("e", "e\u{301}t\u{e9}", false),
            ("广告", "这是广告。", true),
            ("Rust", "使用Rust语言", true),
            ("서울", "서울에서", true),
            ("выборы", "Выборы-2027", true),
        ] {
            assert_eq!(word(pattern, title), is_match, "{pattern} in {title}");
        }
    }

    #[test]
    fn parts_are_compared_alone() {
        let article = ArticleText {
            title: Some("one".to_owned()),
            author: Some("two".to_owned()),
            content: Some("<p title=hidden>th<b>ree</b></p><script>six</script>".to_owned()),
            content_type: feedsync_formats::ContentType::Html,
            summary: Some("seven".to_owned()),
            categories: vec!["four".to_owned(), "five".to_owned()],
            ..ArticleText::default()
        };
        let parts = [RulePart::Title, RulePart::Author, RulePart::Text, RulePart::Topic];
        for (text, place) in [("one", 0), ("two", 1), ("three", 2), ("four", 3), ("five", 3)] {
            for (other, part) in parts.iter().enumerate() {
                let pattern = RulePattern::Expression(format!("^{text}$"));
                assert_eq!(matches(pattern, *part, article.clone()), other == place, "{text}");
            }
            let pattern = RulePattern::Words(vec!["x".to_owned(), text.to_owned()]);
            assert!(matches(pattern, RulePart::Any, article.clone()), "{text}");
        }
        for text in ["six", "hidden", "seven"] {
            let pattern = RulePattern::Words(vec![text.to_owned()]);
            assert!(!matches(pattern, RulePart::Any, article.clone()), "{text}");
        }
        let summary = ArticleText { content: None, ..article };
        assert!(matches(RulePattern::Expression("SEVEN".to_owned()), RulePart::Text, summary));
    }

    /// Expressions that take exponential time in other engines take linear time here.
    #[test]
    fn catastrophic_expressions_are_harmless() {
        let text =
            ArticleText { content: Some("a".repeat(MAX_MATCHED_BYTES)), ..ArticleText::default() };
        for expression in ["^(a+)+$x", "(a|aa)*b", "(.*)*\\d", "(a?){50}a{50}b", "([a-z]+)*!"] {
            let begin = std::time::Instant::now();
            let pattern = RulePattern::Expression(expression.to_owned());
            assert!(!matches(pattern, RulePart::Any, text.clone()), "{expression}");
            assert!(begin.elapsed().as_secs() < 20, "{expression}");
        }
    }

    proptest! {
        #[test]
        fn every_pattern_is_refused_or_compared(
            words in prop::collection::vec("\\PC{0,12}", 0..4), expression in "[a(+*)?|\\[\\]{2}\\\\p]{0,16}", title in "\\PC{0,40}",
        ) {
            for pattern in [RulePattern::Words(words.clone()), RulePattern::Expression(expression.clone())] {
                if let Ok(expression) = compile(&pattern) {
                    expression.is_match(&title);
                }
            }
        }

        /// A word between blanks is found, whatever characters it has.
        #[test]
        fn words_are_literal(text in "[^\\s\\p{C}]{1,12}") {
            let title = format!("before {text} after");
            prop_assert!(word(&text, &title), "{}", title);
        }
    }
}
