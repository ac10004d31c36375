//! Arguments that all decisions share, and the step that a decision builds.

use std::ops::{Deref, DerefMut};

use crate::interceptor::step::Step;
use crate::time::Time;

/// Arguments of a decision besides the state: stored data, random bits and the time.
///
/// A decision may need data that its [`Stored`](super::Stored) cannot read now, such as a body that a browser has
/// not loaded yet. Then the decision fails with the error of the stored data, and the state is as before. The
/// caller loads the data and decides again.
#[derive(Debug)]
pub struct Context<'a, S> {
    /// Stored data. The changes of all earlier steps must be included.
    pub stored: &'a S,
    /// Random bits. They become part of unique names, and spread attempts that would otherwise coincide.
    pub random: u128,
    /// Present time.
    pub now: Time,
}

impl<S> Clone for Context<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Context<'_, S> {}

impl<S> Context<'_, S> {
    /// Creates an empty step for the time of the decision.
    pub(crate) fn draft(self) -> Draft {
        Draft { step: Step::default(), now: self.now, random: self.random as u64 }
    }
}

/// A step that a decision builds, with the time and the random bits of the decision. By the time there is a draft,
/// everything that the decision needs has been read, so that it cannot fail any more.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) step: Step,
    pub(crate) now: Time,
    pub(crate) random: u64,
}

impl Draft {
    /// Creates an empty step whose changes must be durable.
    pub(crate) fn durable(now: Time) -> Self {
        Self { step: Step { is_durable: true, ..Step::default() }, ..Self::at(now) }
    }

    /// Creates an empty step of a decision that needs no random bits.
    pub(crate) fn at(now: Time) -> Self {
        Self { step: Step::default(), now, random: 0 }
    }
}

impl Deref for Draft {
    type Target = Step;

    fn deref(&self) -> &Step {
        &self.step
    }
}

impl DerefMut for Draft {
    fn deref_mut(&mut self) -> &mut Step {
        &mut self.step
    }
}
