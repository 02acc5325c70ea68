//! Links of Markdown documents: the files and the headings that they name, and the pages of the book.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::{Error, Result};
use crate::files;

/// List of the book's pages, in `docs`.
pub const SUMMARY: &str = "SUMMARY.md";

/// Fixtures of tests, which are not documents.
const FIXTURES: [&str; 2] = ["tests/specs/", "example-tools/js/"];

/// An inline link outside of code.
#[derive(Debug, PartialEq)]
pub struct Link {
    /// Line of the link, 1-based.
    pub line: usize,
    /// Place of the target in the text.
    pub range: Range<usize>,
    pub target: String,
}

impl Link {
    /// Returns the file and the heading that the link names, or `None` if it leads to a site.
    pub fn parts(&self) -> Option<(&str, Option<&str>)> {
        // A scheme such as `https:`.
        let is_site = self.target.split_once(':').is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
        });
        match self.target.split_once('#') {
            _ if is_site => None,
            Some((file, heading)) => Some((file, Some(heading))),
            None => Some((&self.target, None)),
        }
    }
}

/// Checks that every link of the documents has a target, and that every page is in the book.
///
/// # Errors
/// If one has none; the lines are on standard error.
pub fn check(root: &Path) -> Result<()> {
    let mut anchors = HashMap::new();
    let mut problems = Vec::new();
    for path in documents(root)? {
        let text = files::read(&root.join(&path))?;
        for link in links(&text) {
            if let Some(problem) = problem(root, &path, &link, &mut anchors)? {
                problems.push(format!("{}:{}: {problem}", path.display(), link.line));
            }
        }
    }
    problems.extend(missing_pages(root)?);
    for problem in &problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() {
        return Ok(());
    }
    let count = problems.len();
    Err(Error::unexpected(format!(
        "{count} links of documents lead to nothing, or pages are not in the book"
    )))
}

/// Returns the inline links of a document.
pub fn links(text: &str) -> Vec<Link> {
    let prose = without_code(text);
    let mut links = Vec::new();
    let mut at = 0;
    while let Some(found) = prose[at..].find("](") {
        let start = at + found + "](".len();
        let end = start + prose[start..].find([')', '\n']).unwrap_or(0);
        at = start;
        // A title may follow the target.
        let target = prose[start..end].split(' ').next().unwrap_or_default();
        if !target.is_empty() {
            links.push(Link {
                line: 1 + text[..start].matches('\n').count(),
                range: start..start + target.len(),
                target: target.to_owned(),
            });
        }
    }
    links
}

/// Returns the paths of the documents, relative to `root`.
fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "*.md"]);
    let names = command::output(&mut git)?;
    let is_document = |name: &&str| {
        let is_fixture = FIXTURES.iter().any(|folder| {
            name.strip_prefix(folder)
                .is_some_and(|rest| rest.contains('/'))
        });
        // A deleted file is still known until it is committed.
        !is_fixture && root.join(name).exists()
    };
    Ok(names
        .lines()
        .filter(is_document)
        .map(PathBuf::from)
        .collect())
}

fn problem(
    root: &Path,
    document: &Path,
    link: &Link,
    anchors: &mut HashMap<PathBuf, HashSet<String>>,
) -> Result<Option<String>> {
    let Some((file, heading)) = link.parts() else {
        return Ok(None);
    };
    let path = match file {
        "" => root.join(document),
        file => root.join(document).parent().unwrap_or(root).join(file),
    };
    let path = normalized(&path);
    if !path.exists() {
        return Ok(Some(format!("there is no file `{file}`")));
    }
    let Some(heading) = heading else {
        return Ok(None);
    };
    if !anchors.contains_key(&path) {
        anchors.insert(path.clone(), anchors_of(&files::read(&path)?));
    }
    let is_there = anchors[&path].contains(heading);
    Ok((!is_there).then(|| format!("`{file}` has no heading `#{heading}`")))
}

/// Returns a problem for each page of `docs` that the book does not have.
fn missing_pages(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("docs");
    let pages: HashSet<String> = links(&files::read(&folder.join(SUMMARY))?)
        .into_iter()
        .map(|link| link.target)
        .collect();
    let mut problems = Vec::new();
    for path in files::entries(&folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".md") && name != SUMMARY && !pages.contains(&*name) {
            problems.push(format!("docs/{name}: the page is not in docs/{SUMMARY}"));
        }
    }
    Ok(problems)
}

/// Returns the anchors of the headings, as GitHub and mdBook make them.
fn anchors_of(text: &str) -> HashSet<String> {
    let mut anchors: HashSet<String> = HashSet::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let heading = line.trim_start_matches('#');
        if is_code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let plain = anchor(heading.trim());
        let mut unique = plain.clone();
        let mut number = 0;
        while !anchors.insert(unique.clone()) {
            number += 1;
            unique = format!("{plain}-{number}");
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_');
    kept.chars().filter(is_kept).collect()
}

/// Replaces code by spaces, so that places in the text stay.
fn without_code(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    let mut is_code = false;
    let mut paragraph = String::new();
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        if is_fence || is_code || line.trim().is_empty() {
            prose.push_str(&without_spans(&paragraph));
            paragraph.clear();
            prose.push_str(&blank(line));
            is_code ^= is_fence;
        } else {
            paragraph.push_str(line);
        }
    }
    prose.push_str(&without_spans(&paragraph));
    prose
}

/// Replaces the code spans of a paragraph.
fn without_spans(paragraph: &str) -> String {
    let mut prose = String::with_capacity(paragraph.len());
    let mut rest = paragraph;
    while let Some(start) = rest.find('`') {
        let after = rest[start..].trim_start_matches('`');
        let fence = &rest[start..rest.len() - after.len()];
        prose.push_str(&rest[..start]);
        let Some(end) = after.find(fence) else {
            prose.push_str(&blank(fence));
            rest = after;
            continue;
        };
        let whole = fence.len() + end + fence.len();
        prose.push_str(&blank(&rest[start..start + whole]));
        rest = &rest[start + whole..];
    }
    prose.push_str(rest);
    prose
}

fn blank(text: &str) -> String {
    let spaces = text
        .bytes()
        .map(|byte| if byte == b'\n' { '\n' } else { ' ' });
    spaces.collect()
}

/// Removes `..` without the file system.
pub fn normalized(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normalized.pop();
            }
            Component::CurDir => {}
            component => normalized.push(component),
        }
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_no_links() {
        let text =
            "a `[x](1)` [y\nz](b.md#c)\n```\n[w](2)\n```\n`` ` [v](3) `` [`u`](https://x.org)";
        let found: Vec<(usize, &str, String)> = links(text)
            .into_iter()
            .map(|link| (link.line, &text[link.range], link.target))
            .collect();
        assert_eq!(
            found,
            [
                (2, "b.md#c", "b.md#c".to_owned()),
                (6, "https://x.org", "https://x.org".to_owned())
            ]
        );
    }

    #[test]
    fn a_link_has_a_file_and_a_heading() {
        let parts = |target: &str| {
            let text = format!("[x]({target})");
            let link = links(&text).remove(0);
            link.parts()
                .map(|(file, heading)| format!("{file} {}", heading.unwrap_or("-")))
        };
        assert_eq!(
            parts("cli.md#the-result").as_deref(),
            Some("cli.md the-result")
        );
        assert_eq!(parts("../x").as_deref(), Some("../x -"));
        assert_eq!(parts("#here").as_deref(), Some(" here"));
        assert_eq!(parts("https://x.org/#a"), None);
    }

    #[test]
    fn anchors_are_those_of_github() {
        let text = "# What `a_b` is\n## Say: \"yes\"!\n```\n# code\n```\n## A\n## A\n#no";
        let mut found: Vec<String> = anchors_of(text).into_iter().collect();
        found.sort();
        assert_eq!(found, ["a", "a-1", "say-yes", "what-a_b-is"]);
    }
}
