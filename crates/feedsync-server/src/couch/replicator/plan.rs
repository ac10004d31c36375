//! Decides which replications of documents start and stop: a function of the documents, the jobs and the time.

use std::collections::BTreeMap;
use std::time::Duration;

use feedsync_couch::{DocumentId, Revision};
use serde_json::Value;

/// Pause after the first failure of a replication. It doubles with each further one.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Maximum pause after a failure.
pub(super) const MAX_PAUSE: Duration = Duration::from_secs(60 * 60);

/// Time after which a running replication counts as healthy, so that the pause after its next failure is short.
pub(super) const HEALTHY_TIME: Duration = Duration::from_secs(120);

/// Documents whose replications are to be carried out, with the revision that describes each.
pub(in crate::couch) type WantedDocuments = BTreeMap<DocumentId, Revision>;

/// Replications of documents, by the id of the document. Times are those since the start of the process.
#[derive(Debug, Clone, Default)]
pub(in crate::couch) struct Jobs(BTreeMap<DocumentId, Job>);

/// A replication of a document.
#[derive(Debug, Clone)]
pub(in crate::couch) struct Job {
    /// Revision of the document that describes it.
    pub(in crate::couch) revision: Revision,
    pub(in crate::couch) state: JobState,
    /// Time at which the state was reached.
    pub(in crate::couch) since: Duration,
    /// Number of failures since it was last healthy.
    pub(in crate::couch) errors: u32,
    /// Reason of the last failure.
    pub(in crate::couch) reason: Option<String>,
}

/// State of a replication.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::couch) enum JobState {
    /// It starts at this time, or later, once fewer replications run.
    Waiting { until: Duration },
    /// It runs.
    Running,
    /// It was told to stop, because its document was changed or removed, or another node carries it out.
    Stopping,
    /// It has ended, and its document does not show that yet. This is written at this time.
    Ended { outcome: FinalOutcome, until: Duration },
}

/// Outcome of a replication that is not carried out again.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::couch) enum FinalOutcome {
    /// All documents were replicated. The values are the members of the document that say so.
    Completed(BTreeMap<&'static str, Value>),
    /// It cannot be carried out, for this reason.
    Failed(String),
}

/// Outcome of one run of a replication.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::couch) enum RunOutcome {
    /// It is not carried out again.
    Final(FinalOutcome),
    /// It failed, for this reason, and is tried again.
    Crashed(String),
    /// It could not start yet, because too many replications run or the document was changed.
    Postponed,
}

/// Work that a decision asks for.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::couch) enum Action {
    /// Start the replication that this revision of the document describes.
    Start(DocumentId, Revision),
    /// Stop the replication of the document.
    Stop(DocumentId),
    /// Write the outcome as an edit of this revision of the document.
    Record(DocumentId, Revision, FinalOutcome),
}

impl Jobs {
    /// Decides what is to be done now, and assumes that it is done. `free` is the number of replications that may start.
    pub(in crate::couch) fn decide(
        &mut self,
        wanted: &WantedDocuments,
        free: usize,
        now: Duration,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        self.0.retain(|id, job| {
            if wanted.get(id) == Some(&job.revision) && job.state != JobState::Stopping {
                return true;
            }
            if job.state == JobState::Running {
                job.enter(JobState::Stopping, now);
                actions.push(Action::Stop(id.clone()));
            }
            // What runs is replaced once it has ended.
            job.state == JobState::Stopping
        });
        for (id, revision) in wanted {
            self.0.entry(id.clone()).or_insert_with(|| Job::new(revision.clone(), now));
        }
        let mut due = Vec::new();
        for (id, job) in &mut self.0 {
            match &mut job.state {
                JobState::Waiting { until } if *until <= now => due.push((*until, id.clone())),
                JobState::Ended { outcome, until } if *until <= now => {
                    // It is written again if that fails.
                    *until = now + pause(job.errors);
                    job.errors += 1;
                    let (id, revision) = (id.clone(), job.revision.clone());
                    actions.push(Action::Record(id, revision, outcome.clone()));
                }
                _ => {}
            }
        }
        // Those that wait for the longest time start first.
        due.sort();
        for (_, id) in due.into_iter().take(free) {
            let Some(job) = self.0.get_mut(&id) else { continue };
            job.enter(JobState::Running, now);
            actions.push(Action::Start(id, job.revision.clone()));
        }
        actions
    }

    /// Notes the outcome of a run.
    pub(in crate::couch) fn ended(&mut self, id: &DocumentId, outcome: RunOutcome, now: Duration) {
        let Some(job) = self.0.get_mut(id) else { return };
        match (&job.state, outcome) {
            // Its document may describe another replication by now, which starts with the next decision.
            (JobState::Stopping, _) => drop(self.0.remove(id)),
            (JobState::Running, RunOutcome::Final(outcome)) => {
                job.errors = 0;
                job.enter(JobState::Ended { outcome, until: now }, now);
            }
            (JobState::Running, RunOutcome::Crashed(reason)) => {
                if now.saturating_sub(job.since) >= HEALTHY_TIME {
                    job.errors = 0;
                }
                let until = now + pause(job.errors);
                job.errors = job.errors.saturating_add(1);
                job.reason = Some(reason);
                job.enter(JobState::Waiting { until }, now);
            }
            (JobState::Running, RunOutcome::Postponed) => {
                job.enter(JobState::Waiting { until: now + FIRST_PAUSE }, now);
            }
            (JobState::Waiting { .. } | JobState::Ended { .. }, _) => {}
        }
    }

    /// The next time at which there is something to do without an event, after this time.
    pub(in crate::couch) fn next_time(&self, now: Duration) -> Option<Duration> {
        let times = self.0.values().filter_map(|job| match job.state {
            JobState::Waiting { until } | JobState::Ended { until, .. } => Some(until),
            JobState::Running | JobState::Stopping => None,
        });
        times.filter(|time| *time > now).min()
    }

    /// The replication of a document.
    pub(in crate::couch) fn get(&self, id: &DocumentId) -> Option<&Job> {
        self.0.get(id)
    }

    /// Whether there is no replication.
    pub(in crate::couch) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Job {
    fn new(revision: Revision, now: Duration) -> Self {
        let state = JobState::Waiting { until: now };
        Self { revision, state, since: now, errors: 0, reason: None }
    }

    fn enter(&mut self, state: JobState, now: Duration) {
        self.state = state;
        self.since = now;
    }
}

/// Pause after a failure that follows so many others.
fn pause(errors: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1_u32 << errors.min(20)).min(MAX_PAUSE)
}

#[cfg(test)]
mod tests;
