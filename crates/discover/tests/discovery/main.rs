//! Discovery, rule by rule of the compatibility page (omp.md 1.1–1.3, 2, 3), and the
//! configuration that steers it. Everything happens in a world of its own: an empty home,
//! an empty project, an environment that holds nothing but what the test says.

mod configuration;
mod configured;
mod dialects;
mod extensions;
mod files;
mod ignored;
mod keys;
mod marketplace;
mod mess;
mod order;
mod plugins;
mod profiles;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use haft_config::Env;
use haft_config::{Config, Flags};
use haft_discover::{Scan, Verdict, scan};
use haft_tool::{Error, Problem};

struct World {
    _dir: tempfile::TempDir,
    root: PathBuf,
    env: Env,
    flags: Flags,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let root = dir.path().canonicalize().expect("a real path");
        for name in ["home", "p"] {
            fs::create_dir(root.join(name)).expect("a folder");
        }
        let env = Env {
            current_dir: Some(root.join("p")),
            home: Some(root.join("home")),
            ..Env::default()
        };
        World {
            _dir: dir,
            root,
            env,
            flags: Flags::default(),
        }
    }

    /// A world with these empty files; `p/` is the project, `home/` the home.
    fn with(files: &[&str]) -> World {
        let world = World::new();
        for file in files {
            world.write(file, "");
        }
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
        self
    }

    fn mkdir(&self, path: &str) -> &Self {
        fs::create_dir_all(self.path(path)).expect("a folder");
        self
    }

    fn executable(&self, path: &str) {
        let permissions = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path(path), permissions).expect("a mode");
    }

    fn link(&self, target: &str, path: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        symlink(target, path).expect("a link");
        self
    }

    fn config(&self) -> Config {
        Config::resolve_with(self.flags.clone(), &self.env).expect("a configuration")
    }

    fn refusal(&self) -> Error {
        Config::resolve_with(self.flags.clone(), &self.env).expect_err("a refusal")
    }

    fn scan(&self) -> Scan {
        scan(&self.config())
    }

    fn short(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        path.display().to_string()
    }

    /// `provider path` of every candidate.
    fn found(&self) -> Vec<String> {
        let scan = self.scan();
        let line = |c: &haft_discover::Candidate| {
            format!("{} {}", c.source.provider, self.short(&c.resolved))
        };
        scan.candidates.iter().map(line).collect()
    }

    /// Only the file names of the candidates.
    fn names(&self) -> Vec<String> {
        let names = self.scan().candidates.into_iter();
        names
            .map(|c| {
                c.resolved
                    .file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned()
            })
            .collect()
    }

    fn verdict(&self, path: &str) -> Verdict {
        let path = self.path(path);
        let scan = self.scan();
        let mut hits = scan
            .looked_at
            .into_iter()
            .filter(|looked| looked.path == path);
        let hit = hits
            .next()
            .unwrap_or_else(|| panic!("{} was not looked at", path.display()));
        hit.verdict
    }

    fn reason(&self, path: &str) -> String {
        match self.verdict(path) {
            Verdict::Ignored { reason } => reason,
            other => panic!("{path}: {other:?}"),
        }
    }

    fn problems(&self) -> Vec<Problem> {
        self.scan().problems
    }

    fn only_problem(&self) -> Problem {
        let mut problems = self.problems();
        assert_eq!(problems.len(), 1, "{problems:#?}");
        problems.remove(0)
    }
}

const A: &str = "p/.omp/tools/a.ts";

/// A registry of Claude's marketplace with these plugins.
fn registry(plugins: serde_json::Value) -> String {
    serde_json::json!({"version": 2, "plugins": plugins}).to_string()
}
