//! The files of a bundle: everything in a folder, with its `node_modules`.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haft_tool::{Error, ErrorKind};

/// Endings of modules.
const ENDINGS: [&str; 6] = ["ts", "mts", "cts", "js", "mjs", "cjs"];

/// Folders that belong to the author's work and not to the tools.
const LEFT_OUT: [&str; 1] = [".git"];

/// All files of a folder, and the tools among them.
pub(crate) struct Files {
    pub(super) entries: Vec<FileEntry>,
    /// Paths of the tools below the folder; `""` for the folder itself.
    tools: Vec<String>,
}

/// A file of the bundle.
pub(super) struct FileEntry {
    /// Path below the folder, with `/`.
    pub(super) name: String,
    /// The file to read. It is the target of a link.
    pub(super) path: PathBuf,
    pub(super) is_executable: bool,
}

impl Files {
    /// Lists the files of `folder`, sorted by name. Links become the files that they lead to.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the folder is missing or contains no tool; [`ErrorKind::Load`] for
    /// what cannot be read, for links that leave the folder, and for sockets and the like.
    pub(crate) fn of(folder: &Path) -> Result<Files, Error> {
        let root = fs::canonicalize(folder).map_err(|why| {
            let text = format!("cannot open {}: {why}", folder.display());
            Error::new(ErrorKind::Usage, text).with_hint("name the folder with the tools")
        })?;
        if !root.is_dir() {
            let text = format!("{} is not a folder", folder.display());
            return Err(
                Error::new(ErrorKind::Usage, text).with_hint("name the folder with the tools")
            );
        }
        let mut entries = Vec::new();
        let mut open = vec![root.clone()];
        add_folder(&root, &root, "", &mut open, &mut entries)?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let tools = tools_of(&root, &entries);
        if tools.is_empty() {
            let text = format!("{} contains no tool", folder.display());
            return Err(Error::new(ErrorKind::Usage, text).with_hint(
                "tools are modules in it (`greet.ts`), folders with an `index.ts`, or the folder itself",
            ));
        }
        Ok(Files { entries, tools })
    }

    /// Returns the tools as paths below the folder of the bundle's files.
    pub(super) fn modules(&self) -> Vec<&str> {
        self.tools.iter().map(String::as_str).collect()
    }
}

/// Returns the tools of a folder as paths on this machine.
pub(crate) fn tool_paths(files: &Files, folder: &Path) -> Vec<PathBuf> {
    let tools = files.tools.iter();
    tools
        .map(|tool| match tool.as_str() {
            "" => folder.to_owned(),
            tool => folder.join(tool),
        })
        .collect()
}

/// Adds the files of a folder. `open` are the folders around it, by which links in a circle are
/// found.
fn add_folder(
    root: &Path,
    folder: &Path,
    name: &str,
    open: &mut Vec<PathBuf>,
    entries: &mut Vec<FileEntry>,
) -> Result<(), Error> {
    let failed = |path: &Path, why: &io::Error| {
        let text = format!("cannot read {}: {why}", path.display());
        Error::new(ErrorKind::Load, text)
    };
    let listed = fs::read_dir(folder).map_err(|why| failed(folder, &why))?;
    for entry in listed {
        let path = entry.map_err(|why| failed(folder, &why))?.path();
        let own = path.file_name().unwrap_or_default();
        let Some(own) = own.to_str() else {
            let text = format!("the name of {} is not UTF-8", path.display());
            return Err(Error::new(ErrorKind::Load, text));
        };
        if LEFT_OUT.contains(&own) {
            continue;
        }
        let name = match name {
            "" => own.to_owned(),
            _ => format!("{name}/{own}"),
        };
        let real = fs::canonicalize(&path).map_err(|why| failed(&path, &why))?;
        if !real.starts_with(root) {
            let text = format!(
                "{} leads out of the folder, to {}",
                path.display(),
                real.display()
            );
            return Err(Error::new(ErrorKind::Load, text).with_hint(
                "a bundle contains only its own files: copy what it needs into the folder",
            ));
        }
        let about = fs::metadata(&real).map_err(|why| failed(&path, &why))?;
        if about.is_dir() {
            if open.contains(&real) {
                let text = format!("{} leads to a folder that contains it", path.display());
                return Err(Error::new(ErrorKind::Load, text).with_hint("remove the link"));
            }
            open.push(real.clone());
            add_folder(root, &real, &name, open, entries)?;
            open.pop();
        } else if about.is_file() {
            // Opened now, so that an unreadable file is known before anything is written.
            fs::File::open(&real).map_err(|why| failed(&path, &why))?;
            entries.push(FileEntry {
                name,
                path: real,
                is_executable: about.permissions().mode() & 0o111 != 0,
            });
        } else {
            let text = format!("{} is neither a file nor a folder", path.display());
            return Err(Error::new(ErrorKind::Load, text).with_hint("remove it"));
        }
    }
    Ok(())
}

/// Returns the tools: the folder itself if it is a package, else the modules in it and the folders
/// with an index.
fn tools_of(root: &Path, entries: &[FileEntry]) -> Vec<String> {
    let is_index = |name: &str| {
        let ending = name.strip_prefix("index.");
        ending.is_some_and(|ending| ENDINGS.contains(&ending))
    };
    let is_package = entries.iter().any(|entry| is_index(&entry.name))
        || fs::read_to_string(root.join("package.json"))
            .ok()
            .and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok())
            .is_some_and(|package| {
                ["omp", "pi", "main", "exports"]
                    .iter()
                    .any(|key| !package[key].is_null())
            });
    if is_package {
        return vec![String::new()];
    }
    let mut tools = Vec::new();
    for entry in entries {
        match entry.name.split_once('/') {
            None => {
                let (stem, ending) = entry.name.rsplit_once('.').unwrap_or((&entry.name, ""));
                let is_types = stem.ends_with(".d");
                if ENDINGS.contains(&ending) && !is_types && !stem.starts_with('.') {
                    tools.push(entry.name.clone());
                }
            }
            Some((folder, rest)) => {
                let is_own = folder != "node_modules" && !folder.starts_with('.');
                if is_own && is_index(rest) {
                    tools.push(folder.to_owned());
                }
            }
        }
    }
    tools.dedup();
    tools
}
