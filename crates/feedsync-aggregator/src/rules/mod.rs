//! Rules of a user: what happens to articles when they arrive.
//!
//! Rules are settings of the [reading state](feedsync_reading_state), so that all devices of the user have them. The hub
//! applies them: it records the marks as if the user had made them.

mod matcher;
mod progress;
mod rule;

pub use rule::{
    MAX_EXPRESSION_BYTES, MAX_RULE_WORD_BYTES, MAX_RULE_WORDS, MAX_RULES, Rule, RuleActions,
    RuleError, RulePart, RulePattern,
};

pub(crate) use matcher::{CompiledRule, MatchedParts};
pub(crate) use progress::RuleProgress;
pub(crate) use rule::{DUPLICATES_SETTING, PROGRESS_SETTING, RULE_PREFIX};
