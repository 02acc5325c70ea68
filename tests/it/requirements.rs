//! Coverage of the requirements: a test names those that it proves, as `aynd 43, c6`. The test here
//! fails if a requirement is never named.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_requirement_of_aynd_has_a_test_that_names_it() {
    let named: BTreeSet<String> = texts().iter().flat_map(|text| named(text)).collect();
    let lines = (1..=75).map(|number| number.to_string());
    let cases = (1..=23).map(|number| format!("c{number}"));
    let missing: Vec<String> = lines
        .chain(cases)
        .filter(|one| !named.contains(one))
        .collect();
    assert!(missing.is_empty(), "no test names aynd {missing:?}");
}

/// The widest range of numbers that one comment may name. One test cannot prove more.
const MAX_RANGE: u32 = 15;

/// The numbers after each `aynd` in comments at tests and their assertions, ranges resolved. The
/// first comment of a file is about no test in particular.
fn named(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let comments = text
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with(['#', '/']) && !line.starts_with("//!"));
    for rest in comments.flat_map(|line| line.split("aynd ").skip(1)) {
        let is_list = |c: char| c.is_ascii_digit() || "c,-– ".contains(c);
        let list: String = rest.chars().take_while(|c| is_list(*c)).collect();
        for part in list.split([',', ' ']).filter(|part| !part.is_empty()) {
            let (kind, numbers) = match part.strip_prefix('c') {
                Some(numbers) => ("c", numbers),
                None => ("", part),
            };
            let (first, last) = numbers.split_once(['-', '–']).unwrap_or((numbers, numbers));
            let last = last.trim_start_matches('c');
            if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
                assert!(last - first < MAX_RANGE, "`{part}` names too many at once");
                found.extend((first..=last).map(|number| format!("{kind}{number}")));
            }
        }
    }
    found
}

/// The tests: those in Rust, and the cases that are folders.
fn texts() -> Vec<String> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut paths = entries(&tests.join("it"));
    paths.retain(|path| path.file_stem().is_some_and(|stem| stem != "requirements"));
    let families = entries(&tests.join("specs")).into_iter();
    let cases = families
        .filter(|path| path.is_dir())
        .flat_map(|it| entries(&it));
    paths.extend(cases.map(|case| case.join("session.txt")));
    paths
        .iter()
        .filter_map(|path| Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned()))
        .collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of the checkout");
    entries.flatten().map(|entry| entry.path()).collect()
}
