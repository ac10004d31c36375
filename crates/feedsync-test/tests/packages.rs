//! Every published crate has the metadata that registries and their readers need.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folders of published crates.
fn published() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path());
    let is_published =
        |folder: &PathBuf| !manifest(folder).lines().any(|line| line == "publish = false");
    folders.filter(|folder| folder.join("Cargo.toml").exists()).filter(is_published).collect()
}

fn manifest(folder: &Path) -> String {
    fs::read_to_string(folder.join("Cargo.toml")).unwrap()
}

/// Parses the texts of a list in one line of a manifest.
fn list(manifest: &str, key: &str) -> Vec<String> {
    let begin = format!("{key} = [");
    let line = manifest.lines().find_map(|line| line.strip_prefix(&begin)).unwrap_or_default();
    line.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn published_crates_have_descriptions_keywords_categories_and_a_readme() {
    let folders = published();
    assert!(folders.len() > 10, "{folders:?}");
    for folder in folders {
        let text = manifest(&folder);
        let name = folder.file_name().unwrap().to_str().unwrap();
        for key in ["description = \"", "repository.workspace = true", "license.workspace = true"] {
            assert!(text.lines().any(|line| line.starts_with(key)), "{name}: {key}");
        }
        let (keywords, categories) = (list(&text, "keywords"), list(&text, "categories"));
        assert!((1..=5).contains(&keywords.len()), "{name}: {keywords:?}");
        assert!(keywords.iter().all(|word| word.len() <= 20), "{name}: {keywords:?}");
        assert!((1..=5).contains(&categories.len()), "{name}: {categories:?}");
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(readme.starts_with(&format!("# {name}\n")), "{name}: {readme}");
    }
}
