//! The import graph of a crate: which source file uses items of which other.
//!
//! Paths that begin with `crate`, `self`, `super` or a module of the file are followed, through re-exports, to
//! the file that defines the item. A re-export by itself imports nothing. Code that is compiled for tests only
//! is ignored, and so are paths inside macro calls.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, UseTree, Visibility};

/// A module by the names of its path below the crate; empty for the root of the crate.
pub type Module = Vec<String>;

/// Maximum number of re-exports that are followed for one name.
const MAX_HOPS: usize = 16;

/// Error of reading the source of a crate.
#[derive(Debug, thiserror::Error)]
pub enum ImportsError {
    /// A file cannot be read.
    #[error("cannot read {0}: {1}")]
    File(PathBuf, io::Error),
    /// A file is not valid Rust.
    #[error("cannot parse {0}: {1}")]
    Syntax(PathBuf, syn::Error),
}

/// Import graph of a crate.
#[derive(Debug, Default)]
pub struct Imports(BTreeMap<Module, BTreeSet<Module>>);

impl Imports {
    /// Reads the crate whose source is in this folder (`src`).
    pub fn of(source: &Path) -> Result<Self, ImportsError> {
        let mut files = Files::default();
        read(source, &mut Vec::new(), &mut files)?;
        let edges = files.0.iter().map(|(module, file)| {
            let targets = file.paths.iter().filter_map(|path| files.target(module, path));
            (module.clone(), targets.filter(|target| target != module).collect())
        });
        Ok(Self(edges.collect()))
    }

    /// Sets of files that import each other, directly or through others, largest first.
    pub fn cycles(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<_, _> =
            self.0.keys().map(|module| (module, self.reached_from(module))).collect();
        let mut cycles = BTreeSet::new();
        for (module, all) in &reached {
            let mutual: BTreeSet<_> =
                all.iter().filter(|other| reached[*other].contains(*module)).collect();
            if mutual.len() > 1 {
                cycles
                    .insert(mutual.into_iter().map(|module| module.join("/")).collect::<Vec<_>>());
            }
        }
        let mut cycles: Vec<_> = cycles.into_iter().collect();
        cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
        cycles
    }

    /// Pairs of different top-level modules of which the first imports the second, each with an example.
    pub fn arrows(&self) -> BTreeMap<(String, String), String> {
        let mut arrows = BTreeMap::new();
        for (module, targets) in &self.0 {
            for target in targets {
                if let (Some(from), Some(to)) = (module.first(), target.first())
                    && from != to
                {
                    let example = || format!("{} uses {}", module.join("/"), target.join("/"));
                    arrows.entry((from.clone(), to.clone())).or_insert_with(example);
                }
            }
        }
        arrows
    }

    fn reached_from<'a>(&'a self, module: &Module) -> BTreeSet<&'a Module> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<_> = self.0[module].iter().collect();
        while let Some(module) = next.pop() {
            if reached.insert(module) {
                next.extend(&self.0[module]);
            }
        }
        reached
    }
}

#[derive(Debug, Default)]
struct Files(BTreeMap<Module, File>);

/// The parts of a source file that name other files.
#[derive(Debug, Default)]
struct File {
    children: BTreeSet<String>,
    defined: BTreeSet<String>,
    /// Imported names with their paths, re-exports among them.
    uses: Vec<(String, Vec<String>)>,
    globs: Vec<Vec<String>>,
    paths: BTreeSet<Vec<String>>,
}

impl Files {
    /// The file in which a path ends, as seen from a file; none for paths to other crates.
    fn target(&self, from: &Module, path: &[String]) -> Option<Module> {
        let (module, rest) = self.start(from, path)?;
        self.walk(module, rest, MAX_HOPS)
    }

    fn start<'a>(&self, from: &Module, path: &'a [String]) -> Option<(Module, &'a [String])> {
        let mut module = from.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                module.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    module.pop();
                    rest = &rest[1..];
                }
            }
            name if self.0[from].children.contains(name) => {}
            _ => return None,
        }
        Some((module, rest))
    }

    fn walk(&self, module: Module, path: &[String], hops: usize) -> Option<Module> {
        let Some((name, rest)) = path.split_first() else { return Some(module) };
        let file = self.0.get(&module)?;
        if file.children.contains(name) {
            let child = [module, vec![name.clone()]].concat();
            // A module inside a file belongs to the file.
            return match self.0.contains_key(&child) {
                true => self.walk(child, rest, hops),
                false => Some(child[..child.len() - 1].to_vec()),
            };
        }
        if file.defined.contains(name) || hops == 0 {
            return Some(module);
        }
        let is_named = |used: &&(String, Vec<String>)| used.0 == *name;
        if let Some((_, used)) = file.uses.iter().find(is_named) {
            let (start, first) = self.start(&module, used)?;
            return self.walk(start, &[first, rest].concat(), hops - 1);
        }
        let of_glob = file.globs.iter().find_map(|glob| {
            let (start, first) = self.start(&module, glob)?;
            let found = self.walk(start, first, hops - 1)?;
            let has = |file: &File| file.defined.contains(name) || file.children.contains(name);
            let file = self.0.get(&found)?;
            let is_reexported = file.uses.iter().any(|(used, _)| used == name);
            (has(file) || is_reexported).then_some(found)
        });
        match of_glob {
            Some(found) => self.walk(found, path, hops - 1),
            None => Some(module),
        }
    }
}

/// Reads all files of a folder.
fn read(folder: &Path, module: &mut Module, files: &mut Files) -> Result<(), ImportsError> {
    let of_folder = |error| ImportsError::File(folder.to_owned(), error);
    for entry in fs::read_dir(folder).map_err(of_folder)? {
        let path = entry.map_err(of_folder)?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.is_dir() {
            module.push(name);
            read(&path, module, files)?;
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)
                .map_err(|error| ImportsError::File(path.clone(), error))?;
            let parsed = syn::parse_file(&text)
                .map_err(|error| ImportsError::Syntax(path.clone(), error))?;
            let mut file = File::default();
            file.visit_file(&parsed);
            let is_root = matches!(name.as_str(), "lib" | "main" | "mod");
            let module = if is_root { module.clone() } else { [&module[..], &[name]].concat() };
            files.0.insert(module, file);
        }
    }
    Ok(())
}

impl<'a> Visit<'a> for File {
    fn visit_item(&mut self, item: &'a Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        match item {
            Item::Mod(module) => {
                self.children.insert(module.ident.to_string());
                // What is inside the file belongs to it.
                for item in module.content.iter().flat_map(|(_, items)| items) {
                    self.visit_item(item);
                }
            }
            Item::Use(used) => {
                let is_reexport = !matches!(used.vis, Visibility::Inherited);
                let known = self.paths.clone();
                self.add(&mut Vec::new(), &used.tree);
                if is_reexport {
                    self.paths = known;
                }
            }
            _ => {
                self.defined.extend(name(item));
                visit::visit_item(self, item);
            }
        }
    }

    /// `pub(crate)` contains a path, but imports nothing.
    fn visit_visibility(&mut self, _: &'a Visibility) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string());
            self.paths.insert(segments.collect());
        }
        visit::visit_path(self, path);
    }
}

impl File {
    /// Adds the paths of a `use`.
    fn add(&mut self, before: &mut Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.add(before, &path.tree);
                before.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add(before, tree)),
            UseTree::Glob(_) => {
                self.globs.push(before.clone());
                self.paths.insert(before.clone());
            }
            UseTree::Name(name) => self.add_name(before, &name.ident, &name.ident),
            UseTree::Rename(name) => self.add_name(before, &name.ident, &name.rename),
        }
    }

    fn add_name(&mut self, before: &[String], name: &syn::Ident, known: &syn::Ident) {
        let mut path = before.to_vec();
        let mut known = known.to_string();
        match name == "self" {
            true if known == "self" => known = path.last().cloned().unwrap_or_default(),
            true => {}
            false => path.push(name.to_string()),
        }
        self.uses.push((known, path.clone()));
        self.paths.insert(path);
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().contains("test"),
        meta => meta.path().is_ident("test"),
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Name that an item defines.
fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
