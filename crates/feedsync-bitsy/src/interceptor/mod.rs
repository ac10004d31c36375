//! The central state machine. It decides about requests of applications, background requests, edits, and
//! events for applications (BITSY 1.2, 2.1.3, 3).
//!
//! [`State`] is the small state in memory: subscriptions, waiting edits, errors. Three roles work on it:
//!
//! - [`Responder`] answers applications. It [decides](Responder::decide) about each request, and most requests
//!   get their response from there.
//! - [`Delivery`] is the outbox. Edits of applications are read whole. They are either [added](Delivery::take)
//!   to the outbox, or sent to their server while the application waits. The latter are
//!   [noted](Delivery::begin_forward) before sending and [completed](Delivery::forwarded) afterwards. Such edits
//!   of one resource must not overlap.
//! - [`Fetcher`] fetches what subscriptions store, in rounds.
//!
//! [`State::begin`] returns the background tasks of the last two. Each task is [finished](State::finished) once.
//!
//! A decision that reads stored data gets a [`Context`]: stored data, random bits and the time. Other decisions
//! get at most the time and random bits. A decision returns a [`Step`]: changes to store in one transaction before
//! anything else happens. [`State::restored`] restores the state from the stored rows, so that the process may end
//! between any two steps. It must also be restored after a step could not be stored, because the state is then
//! ahead of the store.
//!
//! A decision reads first and changes the state afterwards. So if [`Stored`] returns an error, nothing has
//! changed. A browser uses this: its stored data are read asynchronously, so a decision that needs data which is
//! not loaded fails, and is repeated when the data is there.

mod attempts;
mod context;
mod delivery;
mod delivery_state;
mod displayed_edit;
mod document;
mod exchange;
mod fetcher;
mod member_addresses;
mod overlay_edits;
mod pending;
mod proposed;
mod reachability;
mod reply;
mod responder;
mod round;
mod search;
mod settings;
mod state;
mod step;
mod stored;
mod stored_subscription;
mod tasks;

pub use attempts::Attempt;
pub use context::Context;
pub use delivery::{Delivery, ForwardOutcome};
pub use fetcher::Fetcher;
pub use proposed::{EditRequest, Proposed};
pub use reply::{Composed, Reply, ReplyBody};
pub use responder::{Decision, Request, Responder};
pub use settings::{Policy, Settings};
pub use state::{
    ControlError, EditStatus, Rows, State, WaitReason, WaitingChanges, WaitingFor, is_unsafe,
};
pub use step::{
    Belonging, Change, Counters, Event, EventKind, Outcome, OverlayEdit, Step, Task, TaskId,
};
pub use stored::{Content, Digest, Entity, Representation, Resource, Stored};
pub use stored_subscription::{StoredSubscription, SubscriptionId};
