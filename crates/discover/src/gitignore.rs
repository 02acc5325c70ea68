//! Ignore files: finds the files of a tools folder that they hide, exactly as oh-my-pi does.
//!
//! The rules differ from git's. `.gitignore` beside the tools always counts, those above only
//! inside a repository. `.ignore` outweighs them. Folders are walked by their real path. A pattern
//! that hides the tools folder itself (`*` in a dotfiles repository) does not count, since the
//! folder was requested by name. These rules were observed, they are not documented.

use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};

use haft_config::{Config, paths};

/// Limit of the lines of an ignore file.
const MAX_PATTERNS: usize = 5000;

/// Limit of the size of an ignore file.
const MAX_BYTES: usize = 1 << 20;

/// Limit of the different patterns in one file that hide the tools folder itself.
const MAX_HIDING: usize = 50;

/// The ignore files that apply to one folder, in the order of precedence.
pub(super) struct Rules {
    folder: PathBuf,
    layers: Vec<Layer>,
    /// Every place where such a file may be.
    pub(super) looked_at: Vec<PathBuf>,
    /// Files that are not applied because they have too many patterns.
    pub(super) too_long: Vec<PathBuf>,
}

struct Layer {
    file: PathBuf,
    lines: Vec<String>,
    matcher: Gitignore,
}

impl Rules {
    /// Reads the ignore files for `folder`. Without any, nothing is compiled.
    pub(super) fn of(folder: &Path, config: &Config) -> Rules {
        let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let repository = repository_above(&folder);
        let mut directories = vec![folder.as_path()];
        if let Some(root) = repository {
            let above = folder.ancestors().skip(1);
            directories.extend(above.take_while(|directory| directory.starts_with(root)));
        }
        let (mut layers, mut looked_at, mut too_long) = (Vec::new(), Vec::new(), Vec::new());
        for name in [".ignore", ".gitignore"] {
            let files = directories
                .iter()
                .map(|directory| (*directory, directory.join(name)))
                .inspect(|(_, file)| looked_at.push(file.clone()));
            layers.extend(
                files.filter_map(|(root, file)| Layer::read(file, root, &folder, &mut too_long)),
            );
        }
        if let Some(root) = repository {
            let more = [Some(root.join(".git/info/exclude")), global_file(config)];
            layers.extend(
                more.into_iter()
                    .flatten()
                    .inspect(|file| looked_at.push(file.clone()))
                    .filter_map(|file| Layer::read(file, root, &folder, &mut too_long)),
            );
        }
        Rules {
            folder,
            layers,
            looked_at,
            too_long,
        }
    }

    /// Returns the reason why `name` is hidden, if it is.
    pub(super) fn hides(&self, name: &str) -> Option<String> {
        let path = self.folder.join(name);
        for layer in &self.layers {
            match layer.matcher.matched(&path, false) {
                Match::None => {}
                Match::Whitelist(_) => return None,
                Match::Ignore(glob) => {
                    let line = layer.line_of(glob);
                    let line = line.map_or(String::new(), |index| format!(":{}", index + 1));
                    let (file, pattern) = (layer.file.display(), glob.original());
                    return Some(format!(
                        "hidden by `{pattern}` in {file}{line}: add the line `!{name}` below it to load the file"
                    ));
                }
            }
        }
        None
    }
}

impl Layer {
    fn read(
        file: PathBuf,
        root: &Path,
        folder: &Path,
        too_long: &mut Vec<PathBuf>,
    ) -> Option<Layer> {
        // An ignore file that cannot be read hides nothing, as in git.
        let text = paths::read_text(&file).ok().flatten()?;
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() > MAX_PATTERNS || text.len() > MAX_BYTES {
            too_long.push(file);
            return None;
        }
        let matcher = compile(root, &lines)?;
        let mut layer = Layer {
            file,
            lines,
            matcher,
        };
        if root != folder {
            for _ in 0..MAX_HIDING {
                let Some(hit) = layer.line_that_hides(folder) else {
                    return Some(layer);
                };
                let line = layer.lines[hit].clone();
                let same = layer.lines.iter_mut().filter(|other| **other == line);
                same.for_each(String::clear);
                layer.matcher = compile(root, &layer.lines)?;
            }
            too_long.push(layer.file);
            return None;
        }
        Some(layer)
    }

    fn line_that_hides(&self, folder: &Path) -> Option<usize> {
        match self.matcher.matched(folder, true) {
            Match::Ignore(glob) => self.line_of(glob),
            Match::None | Match::Whitelist(_) => None,
        }
    }

    /// Returns the last line with this pattern, because the last match decides.
    fn line_of(&self, glob: &Glob) -> Option<usize> {
        let is_it = |line: &String| line == glob.original() || line.trim_end() == glob.original();
        self.lines.iter().rposition(is_it)
    }
}

fn compile(root: &Path, lines: &[String]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(root);
    for line in lines {
        // An invalid pattern hides nothing; the others still count.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

/// Returns the root of the repository that holds the folder. A repository that begins at the folder
/// itself is not used, because the folder then belongs to the outer repository.
fn repository_above(folder: &Path) -> Option<&Path> {
    let above = folder.ancestors().skip(1);
    let is_root = |directory: &&Path| {
        [".git", ".jj"]
            .iter()
            .any(|name| directory.join(name).exists())
    };
    above.into_iter().find(is_root)
}

/// Returns the user's own ignore file for all repositories.
fn global_file(config: &Config) -> Option<PathBuf> {
    let config_home = &config.roots.config_home;
    let settings = [
        config.home.join(".gitconfig"),
        config_home.join("git/config"),
    ];
    let named = settings.iter().find_map(|file| {
        let text = paths::read_text(file).ok().flatten()?;
        excludes_file(&text)
    });
    match named {
        Some(named) => {
            let expanded = paths::expand(&named, &config.home).ok()?;
            Some(paths::resolve(&config.home, &expanded))
        }
        None => Some(config_home.join("git/ignore")),
    }
}

/// Returns `core.excludesFile` of a git configuration.
fn excludes_file(text: &str) -> Option<String> {
    let mut in_core = false;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            in_core = section
                .trim_end_matches(']')
                .trim()
                .eq_ignore_ascii_case("core");
        } else if in_core
            && let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case("excludesfile")
        {
            return Some(value.trim().trim_matches('"').to_owned());
        }
    }
    None
}
