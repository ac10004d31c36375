//! Any order of edits, deletions, failures and restarts, against a model of what runs.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Number of replications that run at once.
const SLOTS: usize = 2;

#[derive(Debug, Clone)]
enum Step {
    Edit(u8),
    Delete(u8),
    /// A running replication ends.
    End(u8, RunOutcome),
    /// The process ends, and another one begins.
    Restart,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let outcome = prop_oneof![
        Just(RunOutcome::Final(FinalOutcome::Failed("no".to_owned()))),
        Just(RunOutcome::Final(FinalOutcome::Completed(BTreeMap::new()))),
        Just(RunOutcome::Crashed("away".to_owned())),
        Just(RunOutcome::Postponed),
    ];
    let step = prop_oneof![
        3 => (0..4_u8).prop_map(Step::Edit),
        1 => (0..4_u8).prop_map(Step::Delete),
        4 => (0..4_u8, outcome).prop_map(|(id, outcome)| Step::End(id, outcome)),
        1 => Just(Step::Restart),
        3 => (0..400_u64).prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 0..60)
}

fn id(number: u8) -> DocumentId {
    number.to_string().parse().unwrap()
}

/// The documents, and what a process runs for them.
#[derive(Default)]
struct Model {
    jobs: Jobs,
    now: Duration,
    edits: u64,
    /// Documents that are to be carried out.
    wanted: WantedDocuments,
    running: BTreeMap<DocumentId, Revision>,
    stopping: BTreeSet<DocumentId>,
    /// Time of the last failure of a revision.
    crashed: BTreeMap<(DocumentId, Revision), Duration>,
    /// Whether writing of outcomes fails.
    is_read_only: bool,
}

impl Model {
    /// Decides, and carries out the actions. Returns their number.
    fn decide(&mut self) -> usize {
        let free = SLOTS - self.running.len();
        let actions = self.jobs.decide(&self.wanted, free, self.now);
        for action in actions.clone() {
            match action {
                Action::Start(id, revision) => {
                    assert_eq!(self.wanted.get(&id), Some(&revision));
                    let key = (id.clone(), revision.clone());
                    let is_early = |at: &Duration| self.now < *at + FIRST_PAUSE;
                    assert!(!self.crashed.get(&key).is_some_and(is_early), "no pause");
                    assert_eq!(self.running.insert(id, revision), None, "it runs twice");
                    assert!(self.running.len() <= SLOTS);
                }
                Action::Stop(id) => {
                    assert_ne!(self.wanted.get(&id), self.running.get(&id));
                    assert!(self.stopping.insert(id), "it is stopped twice");
                }
                Action::Record(id, revision, _) => {
                    assert_eq!(self.wanted.get(&id), Some(&revision));
                    assert!(!self.running.contains_key(&id));
                    if !self.is_read_only {
                        self.wanted.remove(&id);
                    }
                }
            }
        }
        actions.len()
    }

    fn end(&mut self, id: DocumentId, outcome: RunOutcome) {
        if let Some(revision) = self.running.remove(&id) {
            self.stopping.remove(&id);
            if matches!(outcome, RunOutcome::Crashed(_)) {
                self.crashed.insert((id.clone(), revision), self.now);
            }
            self.jobs.ended(&id, outcome, self.now);
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Edit(number) => {
                self.edits += 1;
                let revision = format!("{}-a", self.edits).parse().unwrap();
                self.wanted.insert(id(number), revision);
            }
            Step::Delete(number) => drop(self.wanted.remove(&id(number))),
            Step::End(number, outcome) => self.end(id(number), outcome),
            Step::Restart => {
                (self.jobs, self.running, self.stopping) = Default::default();
                self.crashed.clear();
            }
            Step::Pass(seconds) => self.now += Duration::from_secs(seconds),
        }
    }

    /// Goes on until nothing happens: what is told to stop stops, and what runs goes on.
    fn come_to_rest(&mut self) {
        for _ in 0..200 {
            let count = self.decide();
            let stopping: Vec<DocumentId> = self.stopping.iter().cloned().collect();
            let all = count + stopping.len();
            for id in stopping {
                self.end(id, RunOutcome::Postponed);
            }
            match self.jobs.next_time(self.now) {
                Some(next) if all == 0 => self.now = next,
                None if all == 0 => return,
                _ => {}
            }
        }
        panic!("it goes on without an end");
    }
}

proptest! {
    #[test]
    fn at_rest_exactly_the_wanted_replications_run(steps in steps()) {
        let mut model = Model::default();
        for step in steps {
            model.step(step);
            model.decide();
            // A second decision at the same moment has nothing to do.
            prop_assert_eq!(model.decide(), 0);
        }
        model.come_to_rest();
        prop_assert_eq!(model.running.len(), model.wanted.len().min(SLOTS));
        for (id, revision) in &model.running {
            prop_assert_eq!(model.wanted.get(id), Some(revision));
        }
    }
}

#[test]
fn pauses_grow_until_a_replication_is_healthy() {
    let mut model = Model::default();
    model.step(Step::Edit(0));
    let mut pauses = Vec::new();
    let crash = |model: &mut Model, after: Duration| {
        model.decide();
        model.now += after;
        model.end(id(0), RunOutcome::Crashed("away".to_owned()));
        assert_eq!(model.decide(), 0);
        let pause = model.jobs.next_time(model.now).unwrap() - model.now;
        model.now += pause;
        pause
    };
    for _ in 0..12 {
        pauses.push(crash(&mut model, Duration::ZERO));
    }
    assert_eq!(pauses[..3], [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]);
    assert_eq!(pauses[11], MAX_PAUSE);
    assert_eq!(crash(&mut model, HEALTHY_TIME), FIRST_PAUSE);
    assert_eq!(model.jobs.get(&id(0)).unwrap().errors, 1);
}

#[test]
fn an_outcome_that_cannot_be_written_is_written_again_after_a_pause() {
    let mut model = Model { is_read_only: true, ..Model::default() };
    model.step(Step::Edit(0));
    assert_eq!(model.decide(), 1);
    model.end(id(0), RunOutcome::Final(FinalOutcome::Failed("no".to_owned())));
    assert_eq!((model.decide(), model.decide()), (1, 0));
    model.now += FIRST_PAUSE;
    assert_eq!((model.decide(), model.decide()), (1, 0));
    assert_eq!(model.jobs.next_time(model.now), Some(model.now + 2 * FIRST_PAUSE));
}
