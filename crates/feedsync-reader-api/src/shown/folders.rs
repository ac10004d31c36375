//! Folders for newsreaders: a flat list of names with numbers.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use feedsync_reading_state::Folder;

use super::label::Label;
use super::number::FolderNumber;
use super::numbering::{hash, numbered};

/// A folder as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFolder {
    /// Number of the folder.
    pub number: FolderNumber,
    /// Name of the folder.
    pub name: Label,
}

/// A list of folders, in order.
///
/// The number of a folder is derived from its name alone. It is thus the same on every server, and stays the same
/// while the name does. If several folders of one list have the same hash, the lowest name gets that number and
/// the next one the following number. Paths with the same shown name are one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    list: Vec<(ShownFolder, Folder)>,
    /// Index of each name in the list.
    places: BTreeMap<Label, usize>,
}

impl Folders {
    /// Builds the list; each name occurs once. Of paths with the same shown name, the first is used.
    pub fn new<'a>(folders: impl IntoIterator<Item = &'a Folder>) -> Self {
        Self::numbered(folders, hash)
    }

    fn numbered<'a>(
        folders: impl IntoIterator<Item = &'a Folder>,
        hash: impl Fn(&str) -> i64,
    ) -> Self {
        let mut found: Vec<(Label, &Folder)> = Vec::new();
        let mut places = BTreeMap::new();
        for folder in folders {
            let Some(name) = Label::of_folder(folder) else { continue };
            if let Entry::Vacant(place) = places.entry(name.clone()) {
                place.insert(found.len());
                found.push((name, folder));
            }
        }
        let numbers = numbered(places.keys().cloned().collect(), hash);
        let shown = |(name, folder): (Label, &Folder)| {
            let number = FolderNumber::new(*numbers.get(&name)?);
            Some((ShownFolder { number, name }, folder.clone()))
        };
        Self { list: found.into_iter().filter_map(shown).collect(), places }
    }

    /// Returns the shown folders.
    pub fn iter(&self) -> impl Iterator<Item = &ShownFolder> {
        self.list.iter().map(|(shown, _)| shown)
    }

    /// Returns the shown form of a folder.
    pub fn shown(&self, folder: &Folder) -> Option<&ShownFolder> {
        self.named(&Label::of_folder(folder)?).map(|(shown, _)| shown)
    }

    /// Returns the folder with a number.
    pub fn find_by_number(&self, number: FolderNumber) -> Option<&Folder> {
        self.list.iter().find(|(shown, _)| shown.number == number).map(|(_, folder)| folder)
    }

    /// Returns the folder with a name.
    pub fn find_by_name(&self, name: &Label) -> Option<&Folder> {
        self.named(name).map(|(_, folder)| folder)
    }

    fn named(&self, name: &Label) -> Option<&(ShownFolder, Folder)> {
        self.list.get(*self.places.get(name)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::numbering::{FIRST, LAST};
    use super::*;

    fn folder(path: &[String]) -> Folder {
        Folder::new(path.iter().map(|name| name.parse().unwrap()).collect()).unwrap()
    }

    fn numbers(folders: &Folders) -> BTreeMap<Label, FolderNumber> {
        folders.iter().map(|shown| (shown.name.clone(), shown.number)).collect()
    }

    #[test]
    fn folder_numbers_are_stable() {
        let news = folder(&["News".to_owned()]);
        let local = folder(&["News".to_owned(), "Local".to_owned()]);
        let alike = folder(&["News / Local".to_owned()]);
        let folders = Folders::new([&local, &Folder::TOP, &news, &alike, &news]);
        let shown: Vec<_> =
            folders.iter().map(|shown| (shown.name.as_str(), shown.number.get())).collect();
        assert_eq!(shown, [("News / Local", 36_651_920), ("News", 1_767_587_990)]);
        assert_eq!(folders.find_by_name(&"News / Local".parse().unwrap()), Some(&local));
        assert_eq!(folders.shown(&alike), folders.shown(&local));
        assert_eq!(folders.shown(&Folder::TOP), None);
        assert_eq!(folders.find_by_number(FolderNumber::TOP), None);
    }

    proptest! {
        #[test]
        fn numbers_are_stable_and_distinct(
            paths in prop::collection::vec(prop::collection::vec("[a-c /]{0,2}[a-c]", 1..3), 0..30),
            one_of in 1..4_i64,
        ) {
            let paths: Vec<Folder> = paths.iter().map(|path| folder(path)).collect();
            // A hash with few values produces many collisions.
            let few = |name: &str| LAST - hash(name) % one_of;
            for hash in [&hash as &dyn Fn(&str) -> i64, &few] {
                let folders = Folders::numbered(&paths, hash);
                let found = numbers(&folders);
                prop_assert_eq!(&found, &numbers(&Folders::numbered(paths.iter().rev(), hash)));
                let distinct: BTreeSet<_> = found.values().collect();
                prop_assert_eq!(distinct.len(), found.len());
                for (name, number) in &found {
                    prop_assert!((FIRST..=LAST).contains(&number.get()));
                    let path = folders.find_by_number(*number).unwrap();
                    prop_assert_eq!(Label::of_folder(path), Some(name.clone()));
                    prop_assert_eq!(folders.find_by_name(name), Some(path));
                    // A folder that is made from a label is shown as that label.
                    let made = name.folder().map(|made| Label::of_folder(&made));
                    prop_assert!(made.is_err() || made == Ok(Some(name.clone())));
                }
                for path in &paths {
                    prop_assert!(folders.shown(path).is_some());
                }
            }
        }
    }
}
