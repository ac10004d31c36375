//! The operations of the engine combined with the formats. Items are created, edited, deleted, merged and resolved.
//! Writing and reading an item between any two operations does not change the result.

use crate::support::{Random, reread, written};
use feedsync_core::{
    By, Creation, Edit, Format, Item, ItemId, Keep, Outcome, Payload, Resolution, Resolved, Stamp,
    Timestamp, merge,
};
use feedsync_formats::{Entry, compose};

const ENDPOINTS: usize = 3;

/// The copies of one item that the endpoints have.
type World = [Option<Item<Payload>>; ENDPOINTS];

/// An operation on an item.
#[derive(Debug)]
enum Operation {
    Create { at: usize, creation: Creation, payload: Payload },
    Edit { at: usize, edit: Edit<Payload> },
    Merge { at: usize, from: usize },
    Resolve { at: usize, keep: Option<Payload> },
}

impl Operation {
    fn random(random: &mut Random, native: Format) -> Self {
        let at = random.below(ENDPOINTS);
        let payload = |random: &mut Random| {
            let title =
                format!("{} & <{}>", random.pick(&["milk", "eggs", "é"]), random.below(1000));
            compose(native, &Entry { title: Some(title), ..Entry::default() })
        };
        match random.below(10) {
            0 => {
                let noconflicts = [None, None, Some(false)][random.below(3)];
                let creation = Creation { noconflicts, deleted: random.below(4) == 0 };
                Self::Create { at, creation, payload: payload(random) }
            }
            1 => Self::Edit { at, edit: Edit::delete() },
            2 => {
                let edit = Edit { payload: None, deleted: Some(false) };
                Self::Edit { at, edit }
            }
            3 | 4 => {
                Self::Edit { at, edit: Edit { payload: Some(payload(random)), deleted: None } }
            }
            5 => {
                let keep = (random.below(2) == 0).then(|| payload(random));
                Self::Resolve { at, keep }
            }
            _ => Self::Merge { at, from: (at + 1 + random.below(ENDPOINTS - 1)) % ENDPOINTS },
        }
    }

    /// Applies the operation and returns the outcome of a merge.
    fn apply(&self, world: &mut World, stamps: &[Stamp; ENDPOINTS]) -> Option<Outcome> {
        match self {
            Self::Create { at, creation, payload } => {
                let id = ItemId::new("item").unwrap();
                if world.iter().all(Option::is_none) {
                    let made = Item::create(id, *creation, &stamps[*at], payload.clone());
                    world[*at] = Some(made.unwrap());
                }
            }
            Self::Edit { at, edit } => {
                if let Some(item) = &mut world[*at] {
                    item.update(&stamps[*at], edit.clone()).unwrap();
                }
            }
            Self::Merge { at, from } => {
                let incoming = world[*from].clone()?;
                let (item, outcome) = merge(world[*at].take(), incoming).unwrap();
                world[*at] = Some(item);
                return Some(outcome);
            }
            Self::Resolve { at, keep } => {
                let item = world[*at].as_mut().filter(|item| !item.conflicts.is_empty())?;
                let keep = match keep {
                    Some(payload) => Keep::Content { payload: payload.clone(), deleted: None },
                    None => Keep::Conflict(0),
                };
                let resolution = Resolution { resolved: Resolved::Some(vec![0]), keep };
                item.resolve(&stamps[*at], resolution).unwrap();
            }
        }
        None
    }
}

/// Returns a stamp of the endpoint, sometimes without a time or without a name.
fn stamp(random: &mut Random, endpoint: usize, step: usize) -> Stamp {
    let when = Timestamp::from_unix_seconds(1_700_000_000 + step as i64 / 3);
    let by = By::new(&format!("endpoint.{endpoint}")).unwrap();
    match random.below(12) {
        0 => Stamp::partial(when, None).unwrap(),
        1 => Stamp::partial(None, Some(by)).unwrap(),
        _ => Stamp::new(when.unwrap(), by),
    }
}

/// Runs one world in memory and another whose items are written in `wire` and read after each step. Returns the
/// number of merges that ended in a conflict.
fn run(seed: u64, native: Format, wire: Format) -> usize {
    let mut random = Random(seed);
    let (mut kept, mut carried) = (World::default(), World::default());
    let mut conflicts = 0;
    for step in 0..60 {
        let operation = Operation::random(&mut random, native);
        let stamps = std::array::from_fn(|endpoint| stamp(&mut random, endpoint, step));
        let outcome = operation.apply(&mut kept, &stamps);
        assert_eq!(operation.apply(&mut carried, &stamps), outcome, "{operation:?}");
        conflicts += usize::from(outcome == Some(Outcome::Conflict));
        for item in carried.iter_mut().flatten() {
            let text = written(wire, std::slice::from_ref(item), None);
            *item = reread(wire, &text).items.remove(0);
        }
        assert_eq!(carried, kept, "seed {seed}, step {step}, {native} as {wire}: {operation:?}");
    }
    conflicts
}

#[test]
fn writing_and_reading_items_between_operations_does_not_change_the_result() {
    for native in Format::ALL {
        for wire in Format::ALL {
            let conflicts: usize = (1..=8).map(|seed| run(seed * 0x9e37_79b9, native, wire)).sum();
            assert!(conflicts > 10, "{native} as {wire}: {conflicts}");
        }
    }
}
