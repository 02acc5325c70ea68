//! `cargo xtask book`: the documents as web pages with search, made by mdBook.
//!
//! The first page is the README. Links to files outside of `docs` lead to the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::cargo_tools::MDBOOK;
use crate::error::{During, Result};
use crate::files;
use crate::links::{self, Link};
use crate::{command, workspace};

/// Files of the repository, for readers of the book.
const REPOSITORY: &str = "https://github.com/haft-tools/haft/blob/main";

/// Folder of the pictures, which `cargo xtask screenshots` takes.
const PICTURES: &str = "docs/page";

/// Name of the README in the book.
const FIRST_PAGE: &str = "index.md";

/// Make the documentation as a book: web pages with search.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask book                 in the build directory; prints the first page
  cargo xtask book --into site     in a folder, to be published")]
pub struct Book {
    /// Folder for the pages. What is in it is removed.
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

impl Book {
    pub fn run(self) -> Result<()> {
        let root = workspace::root();
        links::check(&root)?;
        let folder = workspace::target_dir(&root)?.join("book");
        let source = folder.join("src");
        if source.exists() {
            fs::remove_dir_all(&source).during(|| format!("remove `{}`", source.display()))?;
        }
        let settings = files::read(&root.join("docs/book.toml"))?;
        files::write(&folder.join("book.toml"), &settings)?;
        for page in pages(&root)? {
            let text = files::read(&page)?;
            let name = match page.file_name() {
                Some(name) if page.parent() != Some(&root) => name,
                _ => FIRST_PAGE.as_ref(),
            };
            files::write(&source.join(name), &in_the_book(&root, &page, &text))?;
        }
        copy_pictures(&root.join(PICTURES), &source.join("page"))?;
        let into = match self.into {
            Some(into) => std::path::absolute(&into).during(|| "find the folder".to_owned())?,
            None => folder.join("html"),
        };
        let mut mdbook = Command::new(MDBOOK.folder()?.join(MDBOOK.name));
        mdbook
            .arg("build")
            .arg(&folder)
            .arg("--dest-dir")
            .arg(&into);
        command::run(&mut mdbook)?;
        println!("{}", into.join("index.html").display());
        Ok(())
    }
}

/// Returns the README and the files of `docs`.
fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = vec![root.join("README.md")];
    let found = files::entries(&root.join("docs"))?.into_iter();
    pages.extend(found.filter(|path| path.extension().is_some_and(|it| it == "md")));
    Ok(pages)
}

fn copy_pictures(from: &Path, to: &Path) -> Result<()> {
    for picture in files::entries(from)? {
        let name = picture.file_name().unwrap_or_default();
        files::copy(&picture, &to.join(name))?;
    }
    Ok(())
}

/// Returns a page with links as the book needs them, where all pages are in one folder.
fn in_the_book(root: &Path, page: &Path, text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut at = 0;
    for link in links::links(text) {
        written.push_str(&text[at..link.range.start]);
        written.push_str(&target_in_the_book(root, page, &link));
        at = link.range.end;
    }
    written.push_str(&text[at..]);
    written
}

fn target_in_the_book(root: &Path, page: &Path, link: &Link) -> String {
    let (Some((file, heading)), Some(folder)) = (link.parts(), page.parent()) else {
        return link.target.clone();
    };
    if file.is_empty() {
        return link.target.clone();
    }
    let path = links::normalized(&folder.join(file));
    let path = path.strip_prefix(root).unwrap_or(&path);
    let heading = heading.map_or(String::new(), |heading| format!("#{heading}"));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_page = path.parent() == Some(Path::new("docs")) && name.ends_with(".md");
    if path == Path::new("README.md") {
        format!("{FIRST_PAGE}{heading}")
    } else if is_page && name == links::SUMMARY {
        // The table of contents is beside every page.
        FIRST_PAGE.to_owned()
    } else if path.starts_with(PICTURES) {
        format!("page/{name}")
    } else if is_page {
        format!("{name}{heading}")
    } else {
        format!("{REPOSITORY}/{}{heading}", path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_pages_stay_in_the_book() {
        let root = Path::new("/r");
        let readme = "[a](docs/cli.md#x) [b](CHANGELOG.md) [c](#here) [d](https://x.org) [e](docs/SUMMARY.md)";
        assert_eq!(
            in_the_book(root, &root.join("README.md"), readme),
            format!(
                "[a](cli.md#x) [b]({REPOSITORY}/CHANGELOG.md) [c](#here) [d](https://x.org) [e](index.md)"
            )
        );
        let page = "[a](../README.md#x) [b](trust.md) [c](../types/README.md) ![d](page/x.png)";
        assert_eq!(
            in_the_book(root, &root.join("docs/cli.md"), page),
            format!(
                "[a](index.md#x) [b](trust.md) [c]({REPOSITORY}/types/README.md) ![d](page/x.png)"
            )
        );
    }
}
