//! Tests of the tree against a model: sets of revisions and of edges.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

use super::*;

/// Every revision and edge that was ever added, and nothing else.
#[derive(Debug, Clone, Default)]
struct Model {
    revisions: BTreeSet<Revision>,
    /// A revision and its parent.
    edges: BTreeSet<(Revision, Revision)>,
}

impl Model {
    fn graft(&mut self, path: &Path) {
        let revisions: Vec<_> = path.revisions().collect();
        let edges = revisions.windows(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        self.edges.extend(edges);
        self.revisions.extend(revisions);
    }

    fn leaves(&self) -> Vec<Revision> {
        let parents: BTreeSet<_> = self.edges.iter().map(|(_, parent)| parent).collect();
        let mut leaves: Vec<_> =
            self.revisions.iter().filter(|it| !parents.contains(it)).cloned().collect();
        leaves.sort_by_key(|leaf| (!is_deleted(leaf), leaf.clone()));
        leaves.reverse();
        leaves
    }

    fn came_of(&self, revision: &Revision) -> BTreeSet<Revision> {
        let mut came = BTreeSet::from([revision.clone()]);
        loop {
            let next: Vec<_> = self
                .edges
                .iter()
                .filter(|(child, parent)| came.contains(parent) && !came.contains(child))
                .map(|(child, _)| child.clone())
                .collect();
            if next.is_empty() {
                return came;
            }
            came.extend(next);
        }
    }
}

/// The content of a revision is a function of the revision.
fn is_deleted(revision: &Revision) -> bool {
    revision.to_string().bytes().map(u32::from).sum::<u32>().is_multiple_of(3)
}

fn content(revision: &Revision) -> Content<String> {
    Content { is_deleted: is_deleted(revision), body: revision.to_string() }
}

fn revision(text: &str) -> Revision {
    text.parse().unwrap()
}

fn path(texts: &[&str]) -> Path {
    let revisions: Vec<_> = texts.iter().map(|text| revision(text)).collect();
    let signatures = revisions.iter().map(|it| it.signature().clone()).collect();
    Path::new(revisions[0].generation(), signatures).unwrap()
}

fn tree(paths: &[Path]) -> Tree<String> {
    let mut tree = Tree::default();
    for path in paths {
        tree.graft(path, content(&path.newest()));
    }
    tree
}

fn names(leaves: &[Leaf<'_, String>]) -> Vec<String> {
    leaves.iter().map(|leaf| leaf.revision.to_string()).collect()
}

/// Paths of any shape, including paths that disagree about the parents of a revision.
fn any_path() -> impl Strategy<Value = Path> {
    let signature = prop::sample::select(vec!["a", "b", "c", "cccccccccccccccccccccccccccccccc"]);
    (1..6_u64, prop::collection::vec(signature, 1..6)).prop_map(|(start, mut signatures)| {
        signatures.truncate(start as usize);
        Path::new(start, signatures.iter().map(|it| it.parse().unwrap()).collect()).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn tree_equals_the_added_paths(paths in prop::collection::vec(any_path(), 0..12)) {
        let (mut model, mut tree) = (Model::default(), Tree::default());
        for path in &paths {
            let before = model.clone();
            model.graft(path);
            let graft = tree.graft(path, content(&path.newest()));
            let is_same = (before.revisions == model.revisions, before.edges == model.edges);
            prop_assert_eq!(graft == Graft::Known, is_same == (true, true));
            prop_assert_eq!(graft.is_change(), before.leaves() != model.leaves());
            prop_assert_eq!(graft == Graft::Added, !before.revisions.contains(&path.newest()));
        }
        prop_assert_eq!(tree.len(), model.revisions.len());
        let leaves: Vec<_> = tree.leaves().into_iter().map(|leaf| leaf.revision.clone()).collect();
        prop_assert_eq!(&leaves, &model.leaves());
        prop_assert_eq!(tree.winner().map(|leaf| leaf.revision), leaves.first());
        for revision in &model.revisions {
            prop_assert!(tree.contains(revision));
            prop_assert_eq!(tree.is_leaf(revision), leaves.contains(revision));
            let came = model.came_of(revision);
            let below: Vec<_> = leaves.iter().filter(|leaf| came.contains(leaf)).collect();
            let told = tree.leaves_of(revision);
            prop_assert_eq!(told.iter().map(|leaf| leaf.revision).collect::<Vec<_>>(), below);
            let path: Vec<_> = tree.path(revision).unwrap().revisions().collect();
            prop_assert_eq!(&path[0], revision);
            for pair in path.windows(2) {
                prop_assert!(model.edges.contains(&(pair[0].clone(), pair[1].clone())));
            }
            let oldest = path.last().unwrap();
            prop_assert!(!model.edges.iter().any(|(child, _)| child == oldest));
        }
    }

    /// The result does not depend on the order of paths or on their repetition.
    #[test]
    fn grafts_commute_and_are_idempotent(
        paths in prop::collection::vec(any_path(), 1..9),
        (order, again) in (prop::collection::vec(any::<Index>(), 9), subsequence((0..9).collect::<Vec<usize>>(), 0..9)),
    ) {
        let mut one = tree(&paths);
        let mut shuffled = paths.clone();
        for (at, index) in order.iter().enumerate().take(paths.len()) {
            shuffled.swap(at, index.index(paths.len()));
        }
        shuffled.extend(again.iter().filter_map(|at| paths.get(*at).cloned()));
        let mut other = tree(&shuffled);
        // The set of inner revisions with a body depends on the order.
        one.compact();
        other.compact();
        prop_assert_eq!(&one, &other);
        for path in &paths {
            prop_assert_eq!(one.graft(path, content(&path.newest())), Graft::Known);
        }
        prop_assert_eq!(one, other);
    }

    /// The leaves stay, and of the ancestors of each leaf the newest ones up to the limit.
    #[test]
    fn stemming_retains_leaves_and_newest_ancestors(
        paths in prop::collection::vec(any_path(), 1..9),
        most in 1..5_usize,
    ) {
        let whole = tree(&paths);
        let mut stemmed = whole.clone();
        let before: BTreeSet<_> = whole.bodies().map(|(_, content)| content.body.clone()).collect();
        let gone: BTreeSet<_> = stemmed.stem(most).into_iter().collect();
        let after: BTreeSet<_> = stemmed.bodies().map(|(_, content)| content.body.clone()).collect();
        prop_assert!(gone.is_disjoint(&after));
        prop_assert_eq!(gone.union(&after).cloned().collect::<BTreeSet<_>>(), before);
        prop_assert_eq!(names(&stemmed.leaves()), names(&whole.leaves()));
        let mut needed = BTreeSet::new();
        for leaf in whole.leaves() {
            let before = whole.path(leaf.revision).unwrap();
            let after = stemmed.path(leaf.revision).unwrap();
            let kept = before.signatures().len().min(most);
            prop_assert_eq!(&after.signatures()[..kept], &before.signatures()[..kept]);
            needed.extend(leaf_and_before(&whole, leaf.revision, most));
        }
        prop_assert_eq!(stemmed.len(), needed.len());
        prop_assert!(needed.iter().all(|revision| stemmed.contains(revision)));
        prop_assert_eq!(stemmed.stem(most), Vec::<String>::new());
    }

    /// For a path that is longer than the limit, only the part within reach affects the result.
    #[test]
    fn revisions_beyond_reach_do_not_affect_the_result(
        paths in prop::collection::vec(any_path(), 1..9),
        most in 1..4_usize,
    ) {
        let (mut whole, mut shortened) = (Tree::default(), Tree::default());
        for path in &paths {
            let content = || content(&path.newest());
            let reach = shortened.reach(path, most);
            let told = shortened.graft(&path.clone().shortened(reach), content());
            prop_assert_eq!(whole.graft(path, content()).is_change(), told.is_change());
            prop_assert_eq!(whole.stem(most), shortened.stem(most));
            prop_assert_eq!(&whole, &shortened);
        }
    }

    /// A purge gives the same tree as if the purged paths had never been added.
    #[test]
    fn purging_removes_ancestors_of_purged_leaves_only(
        paths in prop::collection::vec(any_path(), 1..9),
        named in prop::collection::vec(any_path(), 0..4),
        from_it in prop::collection::vec(any::<Index>(), 0..3),
    ) {
        let whole = tree(&paths);
        let all = names(&whole.leaves());
        let mut named: Vec<Revision> = named.iter().map(Path::newest).collect();
        named.extend(from_it.iter().map(|index| revision(&all[index.index(all.len())])));
        let mut purged = whole.clone();
        let Purged { revisions, bodies } = purged.purge(&named);
        for revision in &revisions {
            prop_assert!(whole.is_leaf(revision) && named.contains(revision));
        }
        let left: Vec<_> =
            all.iter().filter(|leaf| !named.contains(&revision(leaf))).cloned().collect();
        prop_assert_eq!(names(&purged.leaves()), left.clone());
        let needed: BTreeSet<_> = left
            .iter()
            .flat_map(|leaf| leaf_and_before(&whole, &revision(leaf), usize::MAX))
            .collect();
        prop_assert_eq!(purged.len(), needed.len());
        let kept = purged.bodies().count() + bodies.len();
        prop_assert_eq!(kept, whole.bodies().count());
    }

    #[test]
    fn a_tree_survives_being_stored(paths in prop::collection::vec(any_path(), 0..9)) {
        let mut tree = Tree::default();
        for (at, path) in paths.iter().enumerate() {
            let is_deleted = is_deleted(&path.newest());
            let attached = if at % 2 == 0 { 0 } else { at as u64 * 100_000 };
            let body = BodyRef { number: at as u64 * 1_000, length: at as u64, attached };
            tree.graft(path, Content { is_deleted, body });
        }
        prop_assert_eq!(Tree::of_bytes(&tree.to_bytes()), Ok(tree));
    }

    #[test]
    fn damaged_bytes_are_rejected(mut bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = Tree::of_bytes(&bytes);
        bytes.insert(0, 1);
        let _ = Tree::of_bytes(&bytes);
    }
}

/// The format before lengths of attachments were stored: two revisions, of which the first has attachments.
#[test]
fn a_tree_without_lengths_of_attachments_is_read() {
    let mut old = vec![1, 4 | 8, 1];
    old.extend([7; 16]);
    old.extend([5, 90, 2 | 8, 1]);
    old.extend([8; 16]);
    old.extend([6, 40]);
    let mut tree = Tree::of_bytes(&old).unwrap();
    assert_eq!(tree.to_bytes(), old);
    let place = |revision: &str, tree: &Tree<BodyRef>| {
        tree.content(&revision.parse().unwrap()).unwrap().body
    };
    let (first, second) = (format!("1-{}", "07".repeat(16)), format!("2-{}", "08".repeat(16)));
    assert_eq!(place(&first, &tree), BodyRef { number: 5, length: 90, attached: 0 });
    assert_eq!(place(&second, &tree), BodyRef { number: 6, length: 40, attached: 0 });
    let third: Revision = format!("3-{}", "09".repeat(16)).parse().unwrap();
    let path = Path::child(&second.parse().unwrap(), third.signature().clone()).unwrap();
    let body = BodyRef { number: 7, length: 50, attached: 1 << 40 };
    tree.graft(&path, Content { is_deleted: false, body });
    let again = Tree::of_bytes(&tree.to_bytes()).unwrap();
    assert_eq!(again, tree);
    assert_eq!(place(&third.to_string(), &again).whole(), 50 + (1 << 40));
}

/// A revision and its ancestors on all paths, up to a number of generations.
fn leaf_and_before(tree: &Tree<String>, leaf: &Revision, most: usize) -> BTreeSet<Revision> {
    let mut found = BTreeMap::from([(leaf.clone(), most)]);
    let mut open = vec![leaf.clone()];
    while let Some(one) = open.pop() {
        let left = found[&one] - 1;
        let place = tree.find(&one).unwrap();
        for parent in tree.parents_of(place).filter(|_| left > 0) {
            let parent = tree.nodes[parent].revision.clone();
            if found.get(&parent).is_none_or(|known| *known < left) {
                found.insert(parent.clone(), left);
                open.push(parent);
            }
        }
    }
    found.into_keys().collect()
}

/// Five edits of which three are retained: `_revisions` has three ids and starts at 5.
#[test]
fn limit_of_three_retains_the_newest_three_of_five_edits() {
    let mut tree = tree(&[path(&["5-e", "4-d", "3-c", "2-b", "1-a"])]);
    tree.stem(3);
    let path = tree.path(&revision("5-e")).unwrap();
    assert_eq!(path.start(), 5);
    let kept: Vec<_> = path.signatures().iter().map(ToString::to_string).collect();
    assert_eq!(kept, ["e", "d", "c"]);
}

/// Two paths without a common ancestor are a conflict between two roots.
#[test]
fn unrelated_path_becomes_a_root() {
    let tree = tree(&[path(&["2-x", "1-w"]), path(&["3-z"])]);
    assert_eq!(tree.leaves().len(), 2);
    assert_eq!(tree.path(&revision("3-z")).unwrap().signatures().len(), 1);
}

/// A live leaf wins against a deleted one, however many edits the deleted one has.
#[test]
fn a_live_leaf_wins() {
    let mut tree = Tree::default();
    tree.graft(&path(&["9-z"]), Content { is_deleted: true, body: 0 });
    tree.graft(&path(&["1-a"]), Content { is_deleted: false, body: 1 });
    tree.graft(&path(&["1-b"]), Content { is_deleted: false, body: 2 });
    let leaves: Vec<_> = tree.leaves().iter().map(|leaf| leaf.content.body).collect();
    assert_eq!(leaves, [2, 1, 0]);
}
