//! Running background requests, and their purposes.

use http::{HeaderMap, Method};

use crate::authentication::Partition;
use crate::interceptor::step::Task;
use crate::interceptor::stored::Content;
use crate::interceptor::stored_subscription::SubscriptionId;
use crate::location::Location;
use crate::outbox::EditId;
use crate::subscription::round::Fetch;
use crate::time::Time;

/// A running background request.
#[derive(Debug)]
pub(crate) struct RunningTask {
    pub(crate) task: Task,
    pub(crate) purpose: TaskPurpose,
}

/// Purpose of a task.
#[derive(Debug)]
pub(crate) enum TaskPurpose {
    /// A request of a round.
    Fetch { round: RoundId, fetch: Fetch, requested: Time },
    /// Sending of an edit.
    Send { edit: EditId },
    /// Check whether an edit was carried out.
    Verify { edit: EditId },
    /// Request for the result of an edit, at the address that its server named.
    Ask { edit: EditId },
    /// Search in a feed for members that were created in it.
    Find { partition: Partition, feed: Location },
    /// Request for the representation that a server made of an edit.
    Learn { stored_subscription: SubscriptionId, location: Location },
}

/// A round of a subscription. Responses to requests of an earlier round are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoundId {
    pub(crate) stored_subscription: SubscriptionId,
    pub(crate) number: u64,
}

/// Parts of a new task.
pub(crate) struct TaskRequest {
    pub(crate) partition: Partition,
    pub(crate) method: Method,
    pub(crate) location: Location,
    /// The feed that leads to the address, or the address that an application named.
    pub(crate) source: Location,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Content>,
}

/// Tasks that one decision begins, at most as many as there is room for.
pub(crate) struct NewTasks {
    pub(crate) room: usize,
    pub(crate) all: Vec<Task>,
}

impl NewTasks {
    /// Whether another task may begin.
    pub(crate) fn has_room(&self) -> bool {
        self.all.len() < self.room
    }
}

impl TaskPurpose {
    /// The edit that a task sends or looks for.
    pub(crate) fn edit(&self) -> Option<EditId> {
        match self {
            Self::Send { edit } | Self::Verify { edit } | Self::Ask { edit } => Some(*edit),
            Self::Fetch { .. } | Self::Find { .. } | Self::Learn { .. } => None,
        }
    }
}
