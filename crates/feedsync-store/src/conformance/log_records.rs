//! Entries of the audit record about logs.

use super::logs::append;
use super::samples::{act, create, open};
use super::{Constructor, wait};
use crate::{Append, AuditSelection, Expected, NewGeneration, Store};

/// Beginning, compacting and removing a log are recorded with their details; appending is not.
pub fn beginning_compacting_and_removing_a_log_are_recorded(
    constructor: Constructor<impl Store + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let ask = |expected, action| Append { act: Some(act(action)), ..append(expected, b"x") };
    for (expected, action) in
        [(Expected::Present, "never"), (Expected::Absent, "begin"), (Expected::Present, "grow")]
    {
        wait(store.append_to_log(&notes, ask(expected, action))).unwrap();
    }
    for (expected, action) in [(Expected::Absent, "never"), (Expected::Present, "compact")] {
        let new = NewGeneration { expected, bytes: Vec::new(), most: 9, act: Some(act(action)) };
        wait(store.begin_log_generation(&notes, new)).unwrap();
    }
    for (expected, action) in [(Expected::Absent, "never"), (Expected::Present, "remove")] {
        wait(store.remove_log(&notes, expected, Some(act(action)))).unwrap();
    }
    let acts = wait(store.acts(AuditSelection { limit: 9, ..Default::default() })).unwrap();
    let actions: Vec<&str> = acts.iter().map(|recorded| &*recorded.act.action).collect();
    assert_eq!(actions, ["remove", "compact", "begin"]);
}
