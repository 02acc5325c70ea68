//! The architecture as tests: what `ARCHITECTURE.md` says must hold in the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The packages in `crates/`, each with the packages of ours that it may use. cargo allows no
/// others, and no circles.
const PACKAGES: &[(&str, &[&str])] = &[
    ("config", &["process", "tool"]),
    ("discover", &["config", "process", "tool"]),
    // The only package with V8 and Deno.
    ("engine", &["process", "tool"]),
    // The client of MCP servers. It knows no catalog and no trust in projects.
    ("mcp", &["config", "process", "tool"]),
    // Calls of tools between hosts. It knows no catalog and no trust.
    ("nats", &["tool"]),
    ("process", &[]),
    ("render", &["tool"]),
    ("shell-quote", &[]),
    // Its macros, which run in the compiler.
    ("tool", &["tool-macros"]),
    ("tool-macros", &[]),
];

/// Modules of the package `haft`, each with the other modules and the packages that it may use.
/// All use `tool`. Others may not use a module that is missing here.
const MODULES: &[(&str, &[&str])] = &[
    // A separate program: it uses nothing of the library, so that V8 is not linked.
    ("system", &[]),
    ("transcript", &[]),
    (
        "family",
        &[
            "config",
            "discover",
            "engine",
            "mcp",
            "nats",
            "process",
            "shell_quote",
        ],
    ),
    (
        "trust",
        &["discover", "engine", "family", "config", "process"],
    ),
    ("registry", &["discover", "family"]),
    ("execute", &[]),
    // The log of calls: one writer a process, one format.
    ("audit", &["config", "process"]),
    // Watches files for changes. The host decides what a change means.
    ("watch", &[]),
    // The newest events of one source, for readers at any pace.
    ("event_log", &[]),
    (
        "host",
        &[
            // The log records the programs that a call starts.
            "audit", "config", "discover", "engine", "execute", "family", "process", "registry",
            "render", "trust", "watch",
        ],
    ),
    // Scripts that call tools of a host.
    ("code", &["config", "engine", "host", "registry", "render"]),
    // oh-my-pi's loader over a host.
    ("custom_tools", &["config", "host", "registry"]),
    ("tool_registry", &["config", "host", "registry"]),
    // Authoring of YAML shell tool files. It is the only way from a surface to a family, because
    // only the family knows the file format.
    ("tool_files", &["config", "family", "process"]),
    ("agents", &["config", "process"]),
    // haft and a folder of tools as one file.
    ("bundle", &["render"]),
    // npm packages that tools lack. Modules are read and compiled for it, never run.
    ("install", &["config", "discover", "engine", "process"]),
    // Tests of tools without a model, each with a host of its own.
    (
        "tool_test",
        &["config", "family", "host", "process", "registry"],
    ),
    (
        "agent_runs",
        &[
            "agents",
            "config",
            "credentials",
            "event_log",
            "host",
            "process",
            "registry",
            "tool_registry",
        ],
    ),
    // Tokens and their rights.
    ("credentials", &["process"]),
    ("telemetry", &[]),
    (
        "surface",
        &[
            "agents",
            "audit",
            "bundle",
            "code",
            "config",
            "credentials",
            "discover",
            "event_log",
            "host",
            "install",
            // States of MCP servers, for people.
            "mcp",
            "nats",
            // The end of the program ends its children.
            "process",
            "registry",
            "render",
            "transcript",
            "agent_runs",
            "telemetry",
            "tool_test",
            "trust",
            "tool_files",
        ],
    ),
];

/// Files and folders that may be in the root of the checkout.
const ROOT: &[&str] = &[
    ".cargo",
    ".ci",
    ".github",
    ".gitignore",
    ".npmrc",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "biome.json",
    "build.rs",
    "SECURITY.md",
    "clippy.toml",
    // The packages below `haft`; the tables above list them.
    "crates",
    "deny.toml",
    "docs",
    // Programs that embed the crate; `tests/it/sdk` runs them.
    "examples",
    "example-tools",
    "js-runtime",
    // List of the functions that run, for `build.rs`; `cargo xtask layout` writes it.
    "layout.gz",
    "package-lock.json",
    "package.json",
    "rustfmt.toml",
    // Libraries for programs in other languages.
    "sdk",
    // Description of the server for the MCP registry.
    "server.json",
    "src",
    "tests",
    "tsconfig.json",
    "types",
    "xtask",
];

#[test]
fn packages_use_only_what_they_may() {
    let mut wrong = Vec::new();
    for (name, allowed) in PACKAGES {
        let manifest = read(&root().join("crates").join(name).join("Cargo.toml"));
        let used = manifest.lines().filter_map(|line| {
            let line = line.strip_prefix("haft-")?;
            line.split(['.', ' ']).next()
        });
        let others = used.filter(|used| !allowed.contains(used));
        wrong.extend(others.map(|used| format!("`{name}` uses `{used}`")));
    }
    for entry in fs::read_dir(root().join("crates")).expect("a folder of the checkout") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        if !PACKAGES.iter().any(|(known, _)| *known == name) {
            wrong.push(format!("`{name}` is not in the table"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_library_needs_no_crate_of_a_surface() {
    let manifest = read(&root().join("Cargo.toml"));
    let needed: Vec<&str> = manifest
        .lines()
        .filter(|line| {
            let name = line.split(" = ").next().unwrap_or_default();
            ["axum", "clap", "reedline", "rmcp", "utoipa"].contains(&name)
        })
        .filter(|line| !line.contains("optional = true"))
        .collect();
    assert!(needed.is_empty(), "{needed:?}");
}

/// Crates that both normal and build dependencies use, as the 600 of the snapshot, are built twice if
/// their settings differ.
#[test]
fn a_release_has_one_profile() {
    let manifest = read(&root().join("Cargo.toml"));
    let settings = |profile: &str| {
        let (_, after) = manifest.split_once(&format!("[{profile}]\n"))?;
        let (settings, _) = after.split_once("\n[").unwrap_or((after, ""));
        Some(settings.trim())
    };
    let normal = settings("profile.release").expect("it is there");
    assert_eq!(settings("profile.release.build-override"), Some(normal));
}

#[test]
fn modules_use_only_what_they_may() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        // The roots of the library and of the program use all of it.
        let is_root = path.starts_with("src/lib.rs") || path.starts_with("src/main.rs");
        if is_root || !path.starts_with("src") {
            continue;
        }
        let module = module_of(&path);
        let Some((_, allowed)) = MODULES.iter().find(|(name, _)| *name == module) else {
            wrong.push(format!(
                "{}: `{module}` is not in the table",
                path.display()
            ));
            continue;
        };
        for used in used_modules(&text) {
            if used != module && used != "tool" && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{}: `{module}` uses `{used}`", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A reader can read the files of each folder in an order in which each one uses only earlier ones.
/// A folder in it counts as one file. What a folder's own file (`mod.rs`) shares with the files in it
/// does not count.
#[test]
fn files_do_not_use_each_other_in_circles() {
    let crates = PACKAGES
        .iter()
        .map(|(name, _)| format!("crates/{name}/src"));
    for package in crates.chain(["src".to_owned(), "xtask/src".to_owned()]) {
        let uses = uses_of_files(&root().join(&package));
        let mut folders: BTreeSet<&[String]> = BTreeSet::new();
        for (user, used) in &uses {
            let common = user
                .iter()
                .zip(used)
                .take_while(|(one, other)| one == other);
            folders.insert(&user[..common.count()]);
        }
        for folder in folders {
            // The backends of the systems use the plain data beside them, and are used by the rest.
            let depth = match &*package {
                "crates/process/src" if folder.is_empty() => usize::MAX,
                _ => folder.len() + 1,
            };
            let inside = uses.iter().filter_map(|(user, used)| {
                let is_inside = user.starts_with(folder) && used.starts_with(folder);
                let part = |path: &[String]| path[..depth.min(path.len())].join("/");
                let (user, used) = (part(user), part(used));
                (is_inside && user != used).then_some((user, used))
            });
            let circles = in_circles(inside);
            assert!(
                circles.is_empty(),
                "these lead into circles in {package}/{}: {circles:#?}",
                folder.join("/")
            );
        }
    }
}

/// Returns what is left of the uses without those that lead to an end.
fn in_circles(uses: impl Iterator<Item = (String, String)>) -> BTreeMap<String, BTreeSet<String>> {
    let mut left: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (user, used) in uses {
        left.entry(used.clone()).or_default();
        left.entry(user).or_default().insert(used);
    }
    while let Some(last) = left.iter().find(|(_, used)| used.is_empty()) {
        let last = last.0.clone();
        left.remove(&last);
        for used in left.values_mut() {
            used.remove(&last);
        }
    }
    left
}

/// Path of a module in its package.
type ModulePath = Vec<String>;

/// The paths in one module, and those that its `use`s give a name to.
#[derive(Default)]
struct Paths {
    all: Vec<ModulePath>,
    by_name: BTreeMap<String, Vec<ModulePath>>,
}

/// Returns the modules of a package, each with a module that it uses in another file. A module is
/// named where it is defined, not where it is exported.
fn uses_of_files(source: &Path) -> BTreeSet<(ModulePath, ModulePath)> {
    let modules: BTreeMap<ModulePath, Paths> = walk(source, "rs")
        .iter()
        .map(|file| (module_path(source, file), paths_in(&read(file))))
        .collect();
    let mut uses = BTreeSet::new();
    for (user, paths) in &modules {
        for path in &paths.all {
            for used in defined_in(&modules, user, path, 0) {
                if !used.starts_with(user) && !user.starts_with(&used) {
                    uses.insert((user.clone(), used));
                }
            }
        }
    }
    uses
}

/// Returns `a::b` for `a/b.rs` and `a/b/mod.rs`, and nothing for the root of the package.
fn module_path(source: &Path, file: &Path) -> ModulePath {
    let inside = file.strip_prefix(source).expect("it is in the folder");
    let parts = inside.with_extension("");
    let parts = parts.iter().map(|part| part.to_string_lossy().into_owned());
    parts
        .filter(|part| !["lib", "main", "mod"].contains(&&**part))
        .collect()
}

/// Returns the modules that define what `path` names in the module `user`. There are several if
/// systems differ.
fn defined_in(
    modules: &BTreeMap<ModulePath, Paths>,
    user: &[String],
    path: &[String],
    depth: usize,
) -> BTreeSet<ModulePath> {
    let mut place = user.to_vec();
    let mut rest = path.iter();
    let mut is_ours = false;
    while let Some(name) = rest.next() {
        match &**name {
            "crate" => place.clear(),
            "super" => drop(place.pop()),
            "self" => {}
            _ => {
                let inner = [&place[..], std::slice::from_ref(name)].concat();
                if modules.contains_key(&inner) {
                    place = inner;
                } else {
                    let named = modules
                        .get(&place)
                        .and_then(|paths| paths.by_name.get(name));
                    let Some(named) = named.filter(|_| depth < 9) else {
                        break;
                    };
                    let targets = named.iter().filter(|target| *target != path);
                    let whole = targets.map(|target| [target, rest.as_slice()].concat());
                    return whole
                        .flat_map(|path| defined_in(modules, &place, &path, depth + 1))
                        .collect();
                }
            }
        }
        is_ours = true;
    }
    is_ours.then_some(place).into_iter().collect()
}

/// Returns the paths in the code of a file, without its tests.
fn paths_in(text: &str) -> Paths {
    let text = text.split("#[cfg(test)]\nmod tests {").next();
    let tokens = tokens(text.unwrap_or_default());
    let mut tokens = tokens.iter().map(String::as_str).peekable();
    let mut paths = Paths::default();
    while let Some(token) = tokens.next() {
        if token == "use" {
            paths.read_use(&mut tokens, &[]);
        } else if is_name(token) {
            let mut path = vec![token.to_owned()];
            while tokens.next_if_eq(&"::").is_some() {
                path.extend(tokens.next_if(|next| is_name(next)).map(str::to_owned));
            }
            if path.len() > 1 {
                paths.all.push(path);
            }
        }
    }
    paths
}

impl Paths {
    /// Reads one tree of a `use`, whose path begins with `before`.
    fn read_use<'a>(
        &mut self,
        tokens: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
        before: &[String],
    ) {
        let mut path = before.to_vec();
        while let Some(token) = tokens.next_if(|next| !["}", ",", ";"].contains(next)) {
            match token {
                "::" => {}
                "{" => loop {
                    self.read_use(tokens, &path);
                    if tokens.next() != Some(",") {
                        return;
                    }
                },
                "as" => {
                    let name = tokens.next().unwrap_or_default();
                    self.by_name
                        .entry(name.to_owned())
                        .or_default()
                        .push(path.clone());
                    return self.all.push(path);
                }
                "self" if !path.is_empty() => {}
                _ => path.push(token.to_owned()),
            }
        }
        if let Some(name) = path
            .last()
            .filter(|_| path.len() > before.len() || !before.is_empty())
        {
            self.by_name
                .entry(name.clone())
                .or_default()
                .push(path.clone());
            self.all.push(path);
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Splits code into names, `::`, and single characters, without comments and literals.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let part = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(literal) = rest.strip_prefix("r#\"") {
            literal.find("\"#").map_or(rest.len(), |end| end + 5)
        } else if let Some(literal) = rest.strip_prefix('"') {
            let mut is_escaped = false;
            let end = literal.find(|c| {
                let is_end = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                is_end
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("'\"'") {
            3
        } else if let Some(escape) = rest.strip_prefix("'\\") {
            2 + escape.find('\'').map_or(1, |end| end + 1)
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else if c.is_alphanumeric() || c == '_' {
            let length = part(|c| c.is_alphanumeric() || c == '_');
            tokens.push(rest[..length].to_owned());
            length
        } else {
            if !c.is_whitespace() {
                tokens.push(c.to_string());
            }
            c.len_utf8()
        };
        rest = &rest[length.min(rest.len())..];
    }
    tokens
}

#[test]
fn only_the_engine_names_v8_and_deno() {
    let found = files_with(&["deno_", "v8::", "node_resolver"], |module| {
        module != "engine"
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
    let manifests = PACKAGES
        .iter()
        .map(|(name, _)| format!("crates/{name}/Cargo.toml"));
    let named: Vec<String> = manifests
        .chain(["Cargo.toml".to_owned()])
        .filter(|path| path != "crates/engine/Cargo.toml")
        .filter(|path| read(&root().join(path)).contains("\ndeno_"))
        .collect();
    assert!(named.is_empty(), "{named:?}");
}

/// haft's own process runs no JavaScript: what makes isolates is reached from worker processes only.
#[test]
fn only_worker_processes_make_isolates() {
    let mut found = files_with(&["boot::", "Isolate::new(", "start_v8("], |_| true);
    found.retain(|place| {
        let place = place.strip_prefix("crates/engine/src/").unwrap_or(place);
        let served = ["boot.rs:", "script_process/", "worker_process/"];
        !served.iter().any(|start| place.starts_with(start))
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn only_the_process_module_starts_programs() {
    let ways = ["std::process::Command", "tokio::process", "posix_spawn"];
    let mut found = files_with(&ways, |module| module != "process");
    // Another program than haft, and starting bash is the purpose of its tool `bash`.
    found.retain(|place| !place.starts_with("src/system/bash.rs:"));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn nothing_prints_below_the_surfaces() {
    let found = files_with(&["println!", "eprintln!", "print!(", "dbg!("], |module| {
        module != "surface" && module != "render"
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn two_modules_write_to_the_standard_streams() {
    let ways = [
        "println!",
        "eprintln!",
        "print!(",
        "dbg!(",
        "io::stdout",
        "io::stderr",
        "stdio::stdout",
        "stdio::stderr",
        "Term::stdout",
        "Term::stderr",
    ];
    let mut found = files_with(&ways, |module| {
        // Standard streams of a reader or a worker process are sockets.
        module != "engine" && module != "system"
    });
    found.retain(|place| {
        !place.starts_with("src/surface/stdout.rs:")
            && !place.starts_with("src/surface/terminal.rs:")
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_system_tools_do_not_name_the_library() {
    let found = files_with(&["haft::"], |module| module == "system");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn families_do_not_use_each_other() {
    let folders = fs::read_dir(root().join("src/family")).expect("a folder of the checkout");
    let folders = folders.flatten().filter(|entry| entry.path().is_dir());
    let families: Vec<String> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let mut parts = path
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned());
        let (Some(_), Some(module), Some(own)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if module != "family" {
            continue;
        }
        for other in &families {
            if *other != own && text.contains(&format!("family::{other}")) && own != "mod.rs" {
                wrong.push(format!("{} uses family::{other}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_source_opens_with_its_job() {
    let silent: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

#[test]
fn the_root_holds_nothing_else() {
    let tracked = std::process::Command::new("git")
        .args(["ls-files"])
        .current_dir(root())
        .output()
        .expect("git is needed to work here");
    let listed = String::from_utf8_lossy(&tracked.stdout).into_owned();
    let mut strangers: Vec<&str> = listed
        .lines()
        .map(|path| path.split('/').next().unwrap_or(path))
        .filter(|entry| !ROOT.contains(entry))
        .collect();
    strangers.dedup();
    assert!(
        strangers.is_empty(),
        "not in the list of root entries: {strangers:?}"
    );
}

#[test]
fn every_op_has_a_user_in_javascript() {
    let declared = read(&root().join("crates/engine/src/extension/mod.rs"));
    // The build script adds some of them to Deno's own modules.
    let runtime: String = walk(&root().join("js-runtime"), "ts")
        .iter()
        .chain([&root().join("crates/engine/build.rs")])
        .map(|path| read(path))
        .collect();
    let unused: Vec<&str> = declared
        .lines()
        .filter_map(|line| line.trim().strip_suffix(',')?.rsplit("::").next())
        .filter(|name| name.starts_with("op_haft_") && !name.ends_with("()"))
        // `guard` replaces some of Deno's own ops, which keep their names.
        .filter(|name| !declared.contains(&format!("::{name}()")))
        .filter(|name| !runtime.contains(*name))
        .collect();
    assert!(unused.is_empty(), "ops without a user: {unused:?}");
}

#[test]
fn every_test_file_is_listed() {
    let folder = root().join("tests/it");
    let is_listed = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let list = match path.parent() {
            Some(parent) if parent != folder => parent.with_extension("rs"),
            _ => folder.join("main.rs"),
        };
        stem == "main" || stem == "mod" || read(&list).contains(&format!("mod {stem};"))
    };
    let mut missing = walk(&folder, "rs");
    missing.retain(|path| !is_listed(path));
    assert!(missing.is_empty(), "no module of tests/it: {missing:?}");
}

fn files_with(words: &[&str], counts: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sources() {
        if !counts(&module_of(&path)) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if let Some(word) = words.iter().find(|word| code.contains(**word)) {
                found.push(format!("{}:{}: {word}", path.display(), number + 1));
            }
        }
    }
    found
}

/// Returns the modules and packages that a file names with `crate::module` or `haft_package`.
fn used_modules(text: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        for start in ["crate::", "haft_"] {
            for part in code.split(start).skip(1) {
                let end = part.find(|c: char| !c.is_alphanumeric() && c != '_');
                let (name, rest) = part.split_at(end.unwrap_or(part.len()));
                if !name.is_empty() && (start == "crate::" || rest.starts_with("::")) {
                    modules.push(name.to_owned());
                }
            }
        }
    }
    modules
}

/// Returns the top module or the package of a file: `engine` for
/// `crates/engine/src/loader/mod.rs`, `host` for `src/host.rs`.
fn module_of(path: &Path) -> String {
    let inside = ["src", "crates"]
        .iter()
        .find_map(|folder| path.strip_prefix(folder).ok());
    let first = inside
        .unwrap_or(path)
        .components()
        .next()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    first.unwrap_or_default().trim_end_matches(".rs").to_owned()
}

fn sources() -> Vec<(PathBuf, String)> {
    let packages = PACKAGES
        .iter()
        .map(|(name, _)| root().join("crates").join(name).join("src"));
    packages
        .chain([root().join("src")])
        .flat_map(|folder| walk(&folder, "rs"))
        .map(|path| {
            let text = read(&path);
            let short = path
                .strip_prefix(root())
                .expect("it is below the root")
                .to_owned();
            (short, text)
        })
        .collect()
}

fn walk(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)
        .expect("a folder of the checkout")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            found.extend(walk(&path, extension));
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
