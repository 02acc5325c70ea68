//! Discovery, rule by rule of the compatibility page (omp.md 1.1–1.3, 2, 3), and the
//! configuration that steers it. Everything happens in a world of its own: an empty home,
//! an empty project, an environment that holds nothing but what the test says.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft::discover::{Scan, Verdict, given, scan};
use haft::{Config, Env, Error, ErrorKind, Flags, Level, Permission, Problem, Severity};

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
        let line = |c: &haft::discover::Candidate| {
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

// 1.1 order and places

#[test]
fn an_empty_world_has_no_tools_and_no_problems() {
    let scan = World::new().scan();
    assert!(
        scan.candidates.is_empty() && scan.problems.is_empty(),
        "{scan:#?}"
    );
    let missing = scan
        .looked_at
        .iter()
        .filter(|l| l.verdict == Verdict::Missing);
    assert_eq!(
        missing.count(),
        13,
        "the thirteen fixed folders are named as missing: {scan:#?}"
    );
}

#[test]
fn providers_come_in_the_order_of_the_table() {
    let world = World::with(&[
        "home/.codex/tools/codex_user.ts",
        "p/.codex/tools/codex_project.ts",
        "home/.claude/tools/claude_user.ts",
        "p/.claude/tools/claude_project.ts",
        "home/.omp/agent/tools/native_user.ts",
        "p/.omp/tools/native_project.ts",
        "home/.omp/agent/tools/sub_user/index.ts",
        "p/.omp/tools/sub_project/index.ts",
        "home/market/tools/market.ts",
        "home/ext/tools/ext.ts",
        "home/ext/tools/ext_sub/index.ts",
        "home/.omp/plugins/node_modules/plug/tools/by_convention.ts",
        "home/.omp/plugins/node_modules/plug/listed.ts",
    ]);
    world.write("home/.omp/agent/config.yml", "extensions: [~/ext]\n");
    let market = serde_json::json!({"version": 2, "plugins": {"m@shop": [{"installPath": world.path("home/market")}]}});
    world.write(
        "home/.claude/plugins/installed_plugins.json",
        &market.to_string(),
    );
    world.write(
        "home/.omp/plugins/package.json",
        r#"{"dependencies":{"plug":"1"}}"#,
    );
    world.write(
        "home/.omp/plugins/node_modules/plug/package.json",
        r#"{"omp":{"tools":"listed.ts"}}"#,
    );
    world.write("p/given.ts", "");
    let mut world = world;
    world.flags.tools = vec!["given.ts".into()];
    assert_eq!(
        world.found(),
        [
            "native p/.omp/tools/native_project.ts",
            "native home/.omp/agent/tools/native_user.ts",
            "native p/.omp/tools/sub_project/index.ts",
            "native home/.omp/agent/tools/sub_user/index.ts",
            "omp-plugins home/ext/tools/ext.ts",
            "omp-plugins home/ext/tools/ext_sub/index.ts",
            "omp-plugins home/.omp/plugins/node_modules/plug/tools/by_convention.ts",
            "claude home/.claude/tools/claude_user.ts",
            "claude p/.claude/tools/claude_project.ts",
            "claude-plugins home/market/tools/market.ts",
            "codex home/.codex/tools/codex_user.ts",
            "codex p/.codex/tools/codex_project.ts",
            "plugin home/.omp/plugins/node_modules/plug/listed.ts",
            "config p/given.ts",
        ]
    );
    assert_eq!(world.problems(), []);
}

#[test]
fn levels_and_names_of_sources() {
    let mut world = World::with(&[A, "home/.claude/tools/c.ts", "p/given.ts"]);
    world.flags.tools = vec!["given.ts".into()];
    let scan = world.scan();
    let seen: Vec<_> = scan
        .candidates
        .iter()
        .map(|c| {
            (
                c.source.provider_name.as_str(),
                c.source.level,
                c.needs_trust(),
            )
        })
        .collect();
    // 1.1.3: configured paths are `project`, yet they were given by name.
    assert_eq!(
        seen,
        [
            ("OMP", Level::Project, true),
            ("Claude Code", Level::User, false),
            ("Config", Level::Project, false)
        ]
    );
}

#[test]
fn other_folders_and_parents_are_not_scanned() {
    let mut world = World::with(&[
        "home/.omp/tools/x.ts",
        "p/.pi/tools/x.ts",
        "p/.agents/tools/x.ts",
        "p/.gemini/tools/x.ts",
        "p/.omp/tools/above.ts",
        "p/deep/er/keep",
    ]);
    world.flags.cwd = Some("deep/er".into());
    assert_eq!(world.found(), Vec::<String>::new());
}

#[test]
fn the_environment_moves_the_roots() {
    let mut world = World::with(&[
        "home/moved/tools/a.ts",
        "home/cc/tools/b.ts",
        "p/.cfg/tools/no.ts",
    ]);
    world.env.pi_coding_agent_dir = Some(world.path("home/moved"));
    world.env.claude_config_dir = Some(world.path("home/cc"));
    world.env.pi_config_dir = Some(".cfg".into());
    assert_eq!(
        world.found(),
        ["native home/moved/tools/a.ts", "claude home/cc/tools/b.ts"]
    );
    let config = world.config();
    assert_eq!(config.roots.omp_plugins, world.path("home/.cfg/plugins"));
}

#[test]
fn a_profile_has_its_own_tools_and_outweighs_the_moved_folder() {
    let mut world = World::with(&[
        "home/.omp/profiles/work/agent/tools/a.ts",
        "home/.omp/agent/tools/b.ts",
    ]);
    world.env.omp_profile = Some("work".into());
    world.env.pi_coding_agent_dir = Some(world.path("home/elsewhere"));
    assert_eq!(
        world.found(),
        ["native home/.omp/profiles/work/agent/tools/a.ts"]
    );
    world.env.omp_profile = Some(String::new());
    world.env.pi_profile = Some("work".into());
    world.env.pi_coding_agent_dir = None;
    assert_eq!(
        world.found(),
        ["native home/.omp/agent/tools/b.ts"],
        "empty selects the default"
    );
}

#[test]
fn a_profile_name_cannot_leave_its_folder() {
    let mut world = World::with(&["home/.omp/agent/tools/b.ts"]);
    world.env.omp_profile = Some("../../x".into());
    assert_eq!(world.found(), ["native home/.omp/agent/tools/b.ts"]);
    assert!(
        world
            .only_problem()
            .message
            .contains("`../../x` is not a profile name")
    );
}

#[test]
fn xdg_data_home_counts_where_its_folder_exists() {
    let mut world = World::new();
    world.env.xdg_data_home = Some(world.path("home/data"));
    assert_eq!(
        world.config().roots.omp_plugins,
        world.path("home/.omp/plugins")
    );
    world.mkdir("home/data/omp");
    assert_eq!(
        world.config().roots.omp_plugins,
        world.path("home/data/omp/plugins")
    );
    assert_eq!(
        world.config().roots.omp_agent,
        world.path("home/.omp/agent")
    );
}

// 1.1 extensions

#[test]
fn the_first_settings_file_with_the_key_wins() {
    let world = World::with(&["p/one/tools/one.ts", "home/two/tools/two.ts"]);
    world.write(
        "home/.omp/agent/settings.json",
        r#"{"extensions":["~/two"]}"#,
    );
    assert_eq!(world.found(), ["omp-plugins home/two/tools/two.ts"]);
    world.write("p/.omp/config.yml", "theme: dark\n");
    assert_eq!(world.found(), ["omp-plugins home/two/tools/two.ts"]);
    world.write("p/.omp/settings.json", r#"{"extensions":["./one"]}"#);
    assert_eq!(world.found(), ["omp-plugins p/one/tools/one.ts"]);
    world.write("p/.omp/config.yml", "extensions: []\n");
    assert_eq!(world.found(), Vec::<String>::new());
}

#[test]
fn a_relative_extension_of_the_user_is_code_of_the_project() {
    let world = World::with(&["p/one/tools/one.ts", "home/two/tools/two.ts"]);
    world.write(
        "home/.omp/agent/config.yml",
        "extensions: [one, ~/two, gone]\n",
    );
    let scan = world.scan();
    let levels: Vec<Level> = scan.candidates.iter().map(|c| c.source.level).collect();
    assert_eq!(levels, [Level::Project, Level::User]);
    assert_eq!(world.verdict("p/gone"), Verdict::Missing);
}

// 1.2 which files count

#[test]
fn modules_count_by_extension_and_declarations_do_not() {
    let world = World::with(&[
        "p/.omp/tools/a.ts",
        "p/.omp/tools/b.js",
        "p/.omp/tools/c.mjs",
        "p/.omp/tools/d.cjs",
        "p/.omp/tools/e.mts",
        "p/.omp/tools/f.cts",
        "p/.omp/tools/g.tsx",
        "p/.omp/tools/h.d.ts",
        "p/.omp/tools/i.d.mts",
        "p/.omp/tools/j.jsx",
        "p/.omp/tools/K.TS",
        "p/.omp/tools/l.md",
        "p/.omp/tools/m.json",
        "p/.omp/tools/n.sh",
        "p/.omp/tools/o.py",
        "p/.omp/tools/p",
        "p/.omp/tools/.q.ts",
    ]);
    assert_eq!(
        world.names(),
        ["a.ts", "b.js", "c.mjs", "d.cjs", "e.mts", "f.cts", "g.tsx"]
    );
    assert!(
        world
            .reason("p/.omp/tools/h.d.ts")
            .contains("type declarations")
    );
    assert!(
        world
            .reason("p/.omp/tools/i.d.mts")
            .contains("type declarations")
    );
    assert!(
        world
            .reason("p/.omp/tools/j.jsx")
            .contains("rename it to .tsx")
    );
    assert!(world.reason("p/.omp/tools/K.TS").contains("lower case"));
    assert!(world.reason("p/.omp/tools/l.md").contains("declarative"));
    assert!(world.reason("p/.omp/tools/m.json").contains("declarative"));
    assert!(world.reason("p/.omp/tools/n.sh").contains("script"));
    assert!(world.reason("p/.omp/tools/o.py").contains("script"));
    assert!(world.reason("p/.omp/tools/p").contains("modules end in"));
    assert!(world.reason("p/.omp/tools/.q.ts").contains("leading dot"));
    assert_eq!(world.problems(), [], "what is foreign is no problem");
}

#[test]
fn files_come_in_byte_order_and_common_extensions_first() {
    let world = World::with(&[
        "p/.omp/tools/alpha.ts",
        "p/.omp/tools/Mid.ts",
        "p/.omp/tools/aa.mjs",
        "p/.omp/tools/zeta.js",
    ]);
    assert_eq!(world.names(), ["Mid.ts", "alpha.ts", "zeta.js", "aa.mjs"]);
}

#[test]
fn sub_folders_count_by_their_index_one_level_deep_and_sorted() {
    let world = World::with(&[
        "p/.omp/tools/z/index.ts",
        "p/.omp/tools/b/index.js",
        "p/.omp/tools/both/index.ts",
        "p/.omp/tools/both/index.js",
        "p/.omp/tools/.hidden/index.ts",
        "p/.omp/tools/deep/er/index.ts",
        "p/.omp/tools/main/package.json",
    ]);
    assert_eq!(
        world.found(),
        [
            "native p/.omp/tools/b/index.js",
            "native p/.omp/tools/both/index.ts",
            "native p/.omp/tools/z/index.ts"
        ]
    );
    assert!(
        world
            .reason("p/.omp/tools/both/index.js")
            .contains("index.ts beside it")
    );
    assert!(world.reason("p/.omp/tools/deep").contains("no index.ts"));
    assert!(world.reason("p/.omp/tools/main").contains("no index.ts"));
}

#[test]
fn sub_folders_of_claude_and_codex_do_not_count() {
    let world = World::with(&[
        "p/.claude/tools/a/index.ts",
        "home/.codex/tools/venv/lib/x.js",
    ]);
    assert_eq!(world.found(), Vec::<String>::new());
    assert!(
        world
            .reason("p/.claude/tools/a/index.ts")
            .contains("not sub-folders")
    );
    assert_eq!(world.problems(), []);
}

#[test]
fn links_to_files_and_to_folders_count() {
    let world = World::with(&["home/shared/tool.ts", "home/shared/pack/index.ts"]);
    world.link("../../../home/shared/tool.ts", "p/.omp/tools/linked.ts");
    world.link("../../../home/shared/pack", "p/.omp/tools/pack");
    world.link(
        "../../../../home/shared/tool.ts",
        "p/.omp/tools/real/index.ts",
    );
    world.link("../../home/shared", "p/.claude/tools");
    assert_eq!(
        world.found(),
        [
            "native p/.omp/tools/linked.ts",
            "native p/.omp/tools/pack/index.ts",
            "native p/.omp/tools/real/index.ts",
            "claude p/.claude/tools/tool.ts",
        ]
    );
}

#[test]
fn loops_of_links_end_and_dangling_ones_are_told() {
    let world = World::with(&[A]);
    world.link(".", "p/.omp/tools/loop");
    world.link("self.ts", "p/.omp/tools/self.ts");
    world.link("nowhere.ts", "p/.omp/tools/gone.ts");
    world.link("nowhere", "p/.omp/tools/readme");
    assert_eq!(world.names(), ["a.ts"]);
    let problems = world.problems();
    let about: Vec<_> = problems.iter().map(self_name).collect();
    assert!(about.contains(&"gone.ts".to_owned()) && about.contains(&"self.ts".to_owned()));
    assert_eq!(
        problems.len(),
        2,
        "a dangling link that is no module is no problem: {problems:#?}"
    );
    assert!(
        world
            .reason("p/.omp/tools/readme")
            .contains("leads nowhere")
    );
}

fn self_name(problem: &Problem) -> String {
    let path = problem.path.as_ref().expect("a path");
    path.file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}

// 1.2 keys

#[test]
fn a_project_file_hides_the_users_and_that_is_told() {
    let world = World::with(&["p/.omp/tools/alpha.ts", "home/.omp/agent/tools/alpha.ts"]);
    assert_eq!(world.found(), ["native p/.omp/tools/alpha.ts"]);
    let problem = world.only_problem();
    assert_eq!(problem.severity, Severity::Info);
    assert_eq!(
        problem.path,
        Some(world.path("home/.omp/agent/tools/alpha.ts"))
    );
    assert!(
        problem
            .message
            .contains(&world.path("p/.omp/tools/alpha.ts").display().to_string())
    );
    assert!(problem.hint.expect("a way out").contains("--tool"));
    let by = world.path("p/.omp/tools/alpha.ts");
    assert_eq!(
        world.verdict("home/.omp/agent/tools/alpha.ts"),
        Verdict::Shadowed { by }
    );
}

#[test]
fn keys_are_shared_by_all_providers_and_forms() {
    let world = World::with(&[
        "p/.omp/tools/both.js",
        "p/.omp/tools/both.ts",
        "p/.omp/tools/dup.ts",
        "p/.omp/tools/dup/index.ts",
        "p/.omp/tools/beta.js",
        "p/.claude/tools/beta.ts",
        "p/.omp/tools/two.dots.ts",
        "p/.omp/tools/two.ts",
        "p/.omp/tools/js.js",
        "p/.omp/tools/js.cjs",
    ]);
    assert_eq!(
        world.names(),
        [
            "beta.js",
            "both.js",
            "dup.ts",
            "js.js",
            "two.dots.ts",
            "two.ts"
        ],
        "our own extensions never hide a common one"
    );
    let problems = world.problems();
    assert_eq!(problems.len(), 4, "{problems:#?}");
    assert!(
        problems
            .iter()
            .all(|problem| problem.severity == Severity::Warning)
    );
}

#[test]
fn a_shadowed_file_can_be_had_by_naming_it() {
    let mut world = World::with(&["p/.omp/tools/both.js", "p/.omp/tools/both.ts"]);
    world.flags.tools = vec![".omp/tools/both.ts".into()];
    assert_eq!(
        world.found(),
        ["native p/.omp/tools/both.js", "config p/.omp/tools/both.ts"]
    );
    assert_eq!(world.problems(), [], "nothing is lost, so nothing is told");
    assert_eq!(world.verdict("p/.omp/tools/both.ts"), Verdict::Candidate);
}

#[test]
fn foreign_files_claim_no_keys() {
    let world = World::with(&[
        "p/.omp/tools/a.json",
        "p/.omp/tools/a.md",
        "p/.omp/tools/a.sh",
        A,
    ]);
    assert_eq!(world.names(), ["a.ts"]);
}

#[test]
fn disabled_extensions_go_before_keys_are_claimed() {
    let world = World::with(&[A, "home/.config/haft/config.yaml"]);
    world.write(
        "home/.config/haft/config.yaml",
        "disabled_extensions: ['tool:a']\n",
    );
    assert_eq!(world.names(), Vec::<String>::new());
    assert!(matches!(world.verdict(A), Verdict::Disabled { by } if by.contains("haft")));

    let world = World::with(&[
        "p/.omp/tools/dup.ts",
        "p/.omp/tools/dup/index.ts",
        "p/.omp/tools/b.ts",
    ]);
    world.write(
        "home/.omp/agent/config.yml",
        "disabledExtensions: ['tool:dup']\n",
    );
    assert_eq!(world.names(), ["b.ts"], "both forms have the key");
    assert!(
        matches!(world.verdict("p/.omp/tools/dup.ts"), Verdict::Disabled { by } if by.contains("config.yml"))
    );
}

#[test]
fn disabled_providers_are_not_asked_at_all() {
    let mut world = World::with(&[A, "p/.codex/tools/b.ts", "p/.claude/tools/c.ts"]);
    world
        .env
        .haft
        .insert("DISABLED_PROVIDERS".into(), "codex, claud".into());
    world.write(
        "p/.omp/settings.json",
        r#"{"disabledProviders":["claude","openai"]}"#,
    );
    assert_eq!(world.names(), ["a.ts"]);
    assert!(
        matches!(world.verdict("p/.codex/tools"), Verdict::Disabled { by } if by.contains("haft"))
    );
    assert!(
        matches!(world.verdict("p/.claude/tools"), Verdict::Disabled { by } if by.contains("settings.json"))
    );
    assert!(
        world.only_problem().message.contains("`claud`"),
        "only our own list is checked"
    );
}

// 1.2 .gitignore

/// Which of a.ts and b.ts survive these ignore files.
fn survivors(files: &[(&str, &str)]) -> Vec<String> {
    let world = World::with(&[A, "p/.omp/tools/b.ts"]);
    for (path, text) in files {
        match text.is_empty() {
            true => world.mkdir(path),
            false => world.write(path, text),
        };
    }
    world.names()
}

const REPO: (&str, &str) = ("p/.git", "");
const BOTH: [&str; 2] = ["a.ts", "b.ts"];
const NEITHER: [&str; 0] = [];

#[test]
fn the_root_gitignore_counts_inside_a_repository_only() {
    assert_eq!(survivors(&[("p/.gitignore", "*.ts")]), BOTH);
    assert_eq!(survivors(&[REPO, ("p/.gitignore", "*.ts")]), NEITHER);
    assert_eq!(
        survivors(&[REPO, ("p/.gitignore", ".omp/tools/a.ts")]),
        ["b.ts"]
    );
    assert_eq!(
        survivors(&[("p/.git", "gitdir: /elsewhere"), ("p/.gitignore", "a.ts")]),
        ["b.ts"]
    );
    assert_eq!(
        survivors(&[("p/.jj", ""), ("p/.gitignore", "a.ts")]),
        ["b.ts"]
    );
    assert_eq!(
        survivors(&[(".git", ""), (".gitignore", "p/.omp/tools/a.ts")]),
        ["b.ts"]
    );
    assert_eq!(
        survivors(&[REPO, (".gitignore", "a.ts")]),
        BOTH,
        "above the repository"
    );
    assert_eq!(survivors(&[REPO, ("p/.omp/.gitignore", "a.ts")]), ["b.ts"]);
    assert_eq!(survivors(&[("p/.omp/.gitignore", "a.ts")]), BOTH);
    assert_eq!(
        survivors(&[("p/.omp/.git", ""), REPO, ("p/.gitignore", "a.ts")]),
        BOTH
    );
}

#[test]
fn the_gitignore_of_the_tools_folder_counts_anywhere() {
    assert_eq!(survivors(&[("p/.omp/tools/.gitignore", "a.ts")]), ["b.ts"]);
    assert_eq!(
        survivors(&[("p/.omp/tools/.gitignore", "*\n!b.ts")]),
        ["b.ts"]
    );
    assert_eq!(survivors(&[("p/.omp/tools/.gitignore", "*")]), NEITHER);
    assert_eq!(
        survivors(&[
            REPO,
            ("p/.gitignore", "*.ts"),
            ("p/.omp/tools/.gitignore", "!b.ts")
        ]),
        ["b.ts"]
    );
}

#[test]
fn patterns_that_hide_the_folder_itself_do_not_count() {
    for pattern in [
        ".omp",
        ".omp/",
        "/.omp/",
        ".omp/*",
        ".omp/**",
        "tools/",
        "tools",
        ".omp/tools",
        "*",
        "*/",
    ] {
        assert_eq!(
            survivors(&[REPO, ("p/.gitignore", pattern)]),
            BOTH,
            "{pattern}"
        );
    }
    for pattern in ["tools/*", "/a.ts", "a.ts/", "A.TS", "x/*", "# a.ts"] {
        assert_eq!(
            survivors(&[REPO, ("p/.gitignore", pattern)]),
            BOTH,
            "{pattern}"
        );
    }
    for pattern in [
        ".omp/tools/*",
        "**/*.ts",
        ".omp/**/*.ts",
        "**/tools/**",
        ".omp/tools/**",
    ] {
        assert_eq!(
            survivors(&[REPO, ("p/.gitignore", pattern)]),
            NEITHER,
            "{pattern}"
        );
    }
    assert_eq!(survivors(&[REPO, ("p/.gitignore", "a.ts\n*")]), ["b.ts"]);
    assert_eq!(survivors(&[REPO, ("p/.gitignore", "*\n!*/")]), NEITHER);
    assert_eq!(
        survivors(&[REPO, ("p/.gitignore", "*\n!*/\n!a.ts")]),
        ["a.ts"]
    );
    assert_eq!(survivors(&[REPO, ("p/.gitignore", "*\n!.omp")]), BOTH);
    assert_eq!(
        survivors(&[REPO, ("p/.gitignore", ".omp/**\n!.omp/tools/")]),
        NEITHER
    );
    assert_eq!(
        survivors(&[
            REPO,
            ("p/.gitignore", "*"),
            ("p/.omp/.gitignore", "!tools/")
        ]),
        BOTH
    );
    assert_eq!(
        survivors(&[REPO, ("p/.gitignore", "a.ts"), ("p/.omp/.gitignore", "*")]),
        ["b.ts"]
    );
    assert_eq!(
        survivors(&[REPO, ("p/.omp/.gitignore", "tools/*")]),
        NEITHER
    );
}

#[test]
fn further_ignore_files_in_their_order() {
    assert_eq!(
        survivors(&[REPO, ("p/.git/info/exclude", "a.ts")]),
        ["b.ts"]
    );
    assert_eq!(
        survivors(&[
            REPO,
            ("p/.git/info/exclude", "a.ts"),
            ("p/.gitignore", "!a.ts")
        ]),
        BOTH
    );
    assert_eq!(survivors(&[("p/.omp/tools/.ignore", "a.ts")]), ["b.ts"]);
    assert_eq!(survivors(&[("p/.ignore", "a.ts")]), BOTH);
    assert_eq!(survivors(&[REPO, ("p/.ignore", "a.ts")]), ["b.ts"]);
    assert_eq!(
        survivors(&[
            REPO,
            ("p/.ignore", "!b.ts"),
            ("p/.omp/tools/.gitignore", "b.ts")
        ]),
        BOTH
    );
    assert_eq!(
        survivors(&[REPO, ("home/.config/git/ignore", "a.ts")]),
        ["b.ts"]
    );
    assert_eq!(survivors(&[("home/.config/git/ignore", "a.ts")]), BOTH);
    let settings = (
        "home/.gitconfig",
        "[user]\n\tname = x\n[core]\n\texcludesFile = ~/gi\n",
    );
    assert_eq!(survivors(&[REPO, settings, ("home/gi", "a.ts")]), ["b.ts"]);
    assert_eq!(
        survivors(&[REPO, ("p/.gitignore", "a[.ts\nb.ts\n")]),
        ["a.ts"],
        "a bad pattern hides nothing"
    );
}

#[test]
fn gitignore_never_touches_sub_folders_and_says_what_it_hides() {
    let world = World::with(&[A, "p/.omp/tools/sub/index.ts"]);
    world.write("p/.omp/tools/.gitignore", "# mine\n*\n");
    assert_eq!(world.found(), ["native p/.omp/tools/sub/index.ts"]);
    let reason = world.reason(A);
    let file = world.path("p/.omp/tools/.gitignore");
    assert!(
        reason.starts_with(&format!("hidden by `*` in {}:2", file.display())),
        "{reason}"
    );
    assert!(reason.contains("`!a.ts`"), "{reason}");
}

#[test]
fn a_linked_folder_is_judged_where_it_really_lies() {
    let world = World::with(&["other/real/a.ts", "other/real/b.ts"]);
    world
        .mkdir("p/.git")
        .write("p/.gitignore", "a.ts")
        .link("../../other/real", "p/.omp/tools");
    assert_eq!(world.names(), BOTH);
    world.mkdir("other/.git").write("other/.gitignore", "b.ts");
    assert_eq!(world.names(), ["a.ts"]);
}

// 1.3 configured paths

#[test]
fn configured_paths_are_expanded() {
    let mut world = World::new();
    let home = world.path("home").display().to_string();
    let project = world.path("p").display().to_string();
    let cases = [
        (":./c.ts", format!("{project}/c.ts")),
        ("@~/x.ts", format!("{home}/x.ts")),
        ("~u.ts", format!("{home}/u.ts")),
        ("~", home.clone()),
        ("file:///tmp/e%20e.ts", "/tmp/e e.ts".into()),
        ("./a\u{a0}b.ts", format!("{project}/a b.ts")),
        ("d/../d.ts", format!("{project}/d.ts")),
        ("/x/../y.ts", "/y.ts".into()),
        ("@/q/r.ts", "/q/r.ts".into()),
        ("@scope.ts", format!("{project}/@scope.ts")),
        (
            "with space\nand line.ts",
            format!("{project}/with space\nand line.ts"),
        ),
    ];
    world.flags.tools = cases.iter().map(|(given, _)| (*given).to_owned()).collect();
    let resolved: Vec<String> = world
        .scan()
        .candidates
        .iter()
        .map(|c| c.resolved.display().to_string())
        .collect();
    assert_eq!(resolved, cases.map(|(_, expected)| expected));
}

#[test]
fn an_internal_url_is_a_problem_of_that_path_only() {
    let mut world = World::with(&["p/x.ts"]);
    world.flags.tools = vec![
        "local://foo.ts".into(),
        "@skill://s".into(),
        String::new(),
        "x.ts".into(),
    ];
    assert_eq!(world.found(), ["config p/x.ts"]);
    let problems = world.problems();
    assert_eq!(problems.len(), 3);
    assert_eq!(
        problems[0].message,
        "Path \"local://foo.ts\" uses internal scheme \"local://\" and must be resolved through the proper protocol handler, not as a filesystem path."
    );
    assert!(
        problems[1]
            .message
            .starts_with("Path \"@skill://s\" uses internal scheme \"skill://\"")
    );
    assert!(
        problems
            .iter()
            .all(|problem| problem.severity == Severity::Error && problem.hint.is_some())
    );
}

#[test]
fn any_extension_and_folders_may_be_named_and_what_is_missing_goes_to_the_loader() {
    let mut world = World::with(&["p/a.txt", "p/readme.md", "p/pack/index.ts"]);
    world.flags.tools = ["a.txt", "readme.md", "pack", "gone.ts"]
        .map(String::from)
        .to_vec();
    assert_eq!(
        world.found(),
        [
            "config p/a.txt",
            "config p/readme.md",
            "config p/pack",
            "config p/gone.ts"
        ]
    );
    assert_eq!(world.verdict("p/gone.ts"), Verdict::Missing);
}

#[test]
fn a_query_asks_for_a_fresh_instance() {
    let mut world = World::with(&["p/c.ts", "p/real?.ts"]);
    world.flags.tools = ["c.ts", "c.ts?x=1", "./c.ts", "c.ts?x=1", "real?.ts"]
        .map(String::from)
        .to_vec();
    let scan = world.scan();
    let seen: Vec<_> = scan
        .candidates
        .iter()
        .map(|c| (world.short(&c.resolved), c.query.clone()))
        .collect();
    assert_eq!(
        seen,
        [
            ("p/c.ts".into(), None),
            ("p/c.ts".into(), Some("x=1".into())),
            ("p/real?.ts".into(), None)
        ]
    );
}

#[test]
fn paths_are_compared_by_text_and_the_first_source_is_kept() {
    let mut world = World::with(&[A]);
    world.link("a.ts", "p/.omp/tools/link.ts");
    world.flags.tools = vec!["x/../.omp/tools/a.ts".into(), ".omp/tools/a.ts/".into()];
    assert_eq!(
        world.found(),
        ["native p/.omp/tools/a.ts", "native p/.omp/tools/link.ts"]
    );
    let duplicate = Verdict::Duplicate { of: world.path(A) };
    let scan = world.scan();
    assert_eq!(
        scan.looked_at
            .iter()
            .filter(|l| l.verdict == duplicate)
            .count(),
        2
    );
}

#[test]
fn a_home_that_is_the_project_is_not_found_twice() {
    let mut world = World::with(&["home/.claude/tools/a.ts"]);
    world.flags.cwd = Some(world.path("home"));
    let scan = world.scan();
    assert_eq!(scan.candidates.len(), 1);
    assert_eq!(scan.candidates[0].source.level, Level::User);
    assert_eq!(scan.problems, []);
}

#[test]
fn given_paths_keep_the_text_they_were_given_as() {
    let world = World::with(&["p/x.ts", A]);
    let scan = given(&world.config(), &["x.ts".into(), "local:/y".into()]);
    assert_eq!(scan.candidates.len(), 1);
    assert_eq!(scan.candidates[0].path, Path::new("x.ts"));
    assert_eq!(scan.candidates[0].resolved, world.path("p/x.ts"));
    assert_eq!(
        scan.problems[0].path.as_deref(),
        Some(Path::new("local:/y"))
    );
}

// 2 Claude marketplace

fn registry(plugins: serde_json::Value) -> String {
    serde_json::json!({"version": 2, "plugins": plugins}).to_string()
}

#[test]
fn marketplace_registries_replace_each_other_plugin_by_plugin() {
    let world = World::with(&[
        "m/old/tools/old.ts",
        "m/new/tools/new.ts",
        "m/only/tools/only.ts",
        "m/own/tools/own.ts",
    ]);
    world.mkdir("p/.git");
    let at = |name: &str| serde_json::json!([{"installPath": world.path(&format!("m/{name}")), "version": "1"}]);
    let claude = registry(serde_json::json!({"x@m": at("old"), "only@m": at("only")}));
    world.write("home/.claude/plugins/installed_plugins.json", &claude);
    assert_eq!(world.names(), ["old.ts", "only.ts"]);
    world.write(
        "home/.omp/plugins/installed_plugins.json",
        &registry(serde_json::json!({"x@m": at("new")})),
    );
    assert_eq!(world.names(), ["only.ts", "new.ts"]);
    world.write(
        "p/.omp/plugins/installed_plugins.json",
        &registry(serde_json::json!({"x@m": at("own")})),
    );
    assert_eq!(world.names(), ["own.ts", "only.ts"]);
    assert_eq!(world.scan().candidates[0].source.level, Level::Project);
}

#[test]
fn claudes_switches_and_project_bindings_count() {
    let world = World::with(&[
        "m/a/tools/a.ts",
        "m/b/tools/b.ts",
        "m/c/tools/c.ts",
        "m/d/tools/d.ts",
    ]);
    world.mkdir("p/.git").mkdir("q");
    let entry = |name: &str, scope: &str, project: &str| {
        let path = world.path(&format!("m/{name}"));
        serde_json::json!([{"installPath": path, "scope": scope, "projectPath": world.path(project)}])
    };
    let plugins = serde_json::json!({
        "a@m": entry("a", "user", "q"),
        "b@m": entry("b", "project", "q"),
        "c@m": entry("c", "local", "p"),
        "d@m": [{"installPath": world.path("m/d"), "enabled": false}],
    });
    world.write(
        "home/.claude/plugins/installed_plugins.json",
        &registry(plugins),
    );
    assert_eq!(world.names(), ["a.ts", "c.ts"]);
    assert!(world.reason("m/b").contains("another project"));
    assert!(matches!(world.verdict("m/d"), Verdict::Disabled { .. }));
    world.write(
        "home/.claude/settings.json",
        r#"{"enabledPlugins":{"a@m":false,"b@m":true}}"#,
    );
    assert_eq!(world.names(), ["b.ts", "c.ts"]);
    world.write(
        "p/.claude/settings.local.json",
        r#"{"enabledPlugins":{"a@m":true}}"#,
    );
    assert_eq!(world.names(), ["a.ts", "b.ts", "c.ts"]);
    let levels: Vec<Level> = world
        .scan()
        .candidates
        .iter()
        .map(|c| c.source.level)
        .collect();
    assert_eq!(levels, [Level::User, Level::Project, Level::Project]);
}

#[test]
fn broken_registries_and_entries_are_told_and_the_rest_is_loaded() {
    let world = World::with(&["m/a/tools/a.ts"]);
    let plugins = serde_json::json!({
        "noat": [{"installPath": "/x"}],
        "nopath@m": [{"version": "1"}],
        "a@m": [{"installPath": world.path("m/a")}],
    });
    world.write(
        "home/.claude/plugins/installed_plugins.json",
        &registry(plugins),
    );
    world.write(
        "home/.omp/plugins/installed_plugins.json",
        "{\n  \"version\": 1,\n  oops\n",
    );
    assert_eq!(world.names(), ["a.ts"]);
    let problems = world.problems();
    let texts: Vec<&str> = problems
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    assert_eq!(
        texts[0],
        "Invalid plugin ID format (missing @marketplace): noat"
    );
    assert_eq!(texts[1], "Plugin nopath@m entry has no installPath");
    assert!(texts[2].starts_with("not valid JSON"), "{texts:?}");
    assert_eq!((problems[2].line, problems[2].column), (Some(3), Some(3)));
}

#[test]
fn packages_that_break_the_agent_plugins_format_are_skipped() {
    let world = World::with(&["m/a/tools/a.ts", "m/b/tools/b.ts", "m/c/tools/c.ts"]);
    let at = |name: &str| serde_json::json!([{"installPath": world.path(&format!("m/{name}"))}]);
    let plugins = serde_json::json!({"a@m": at("a"), "b@m": at("b"), "c@m": at("c")});
    world.write(
        "home/.claude/plugins/installed_plugins.json",
        &registry(plugins),
    );
    let schema = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
    world.write(
        "m/a/plugin.json",
        &format!(r#"{{"$schema":"{schema}","name":"Bad Name"}}"#),
    );
    world.write(
        "m/b/plugin.json",
        &format!(r#"{{"$schema":"{schema}","name":"good"}}"#),
    );
    world.write(
        "m/c/plugin.json",
        r#"{"name":"Bad Name of another format"}"#,
    );
    assert_eq!(world.names(), ["b.ts", "c.ts"]);
    assert!(world.only_problem().message.contains("Bad Name"));
}

// 3 installed plugins

const MODULES: &str = "home/.omp/plugins/node_modules";

/// A user's plugin `p` with these files and this manifest.
fn plugin(files: &[&str], manifest: &str) -> World {
    let world = World::new();
    for file in files {
        world.write(&format!("{MODULES}/p/{file}"), "");
    }
    world.write(
        "home/.omp/plugins/package.json",
        r#"{"dependencies":{"p":"1"}}"#,
    );
    world.write(
        &format!("{MODULES}/p/package.json"),
        &format!(r#"{{"version":"1","omp":{manifest}}}"#),
    );
    world
}

#[test]
fn manifest_entries_name_files_and_folders() {
    let world = plugin(
        &["x.mjs", "t/index.js", "t/index.mjs", "readme.md"],
        r#"{"tools":["x.mjs","t","readme.md"]}"#,
    );
    assert_eq!(world.names(), ["x.mjs", "index.js", "readme.md"]);
    let keys: Vec<String> = world.scan().candidates.into_iter().map(|c| c.key).collect();
    assert_eq!(keys, ["x", "t", "readme"]);
    let world = plugin(&["x.ts"], r#"{"tools":"./x.ts"}"#);
    assert_eq!(world.found(), [format!("plugin {MODULES}/p/x.ts")]);
    let world = plugin(&["../out.ts"], r#"{"tools":"../out.ts"}"#);
    assert_eq!(
        world.found(),
        [format!("plugin {MODULES}/out.ts")],
        "`..` may leave the plugin"
    );
}

#[test]
fn manifest_entries_that_lead_nowhere_are_told() {
    let world = plugin(
        &["x.ts", "empty/readme"],
        r#"{"tools":["gone.ts","empty","x.ts",7]}"#,
    );
    assert_eq!(world.names(), ["x.ts"]);
    let problems = world.problems();
    assert_eq!(problems.len(), 3, "{problems:#?}");
    assert!(
        problems[1]
            .message
            .contains("`gone.ts`, but there is no such file")
    );
    assert!(
        problems[2]
            .message
            .contains("`empty`, but the folder has no index.ts")
    );
}

#[test]
fn features_are_chosen_by_default_lock_file_and_overrides() {
    let manifest = r#"{"tools":"x.ts","features":{"f":{"default":true,"tools":["y.ts"]},"g":{"tools":["z.ts"]}}}"#;
    let world = plugin(&["x.ts", "y.ts", "z.ts"], manifest);
    assert_eq!(world.names(), ["x.ts", "y.ts"]);
    let lock = |features: &str| {
        format!(
            r#"{{"plugins":{{"p":{{"version":"1","enabled":true,"enabledFeatures":{features}}}}}}}"#
        )
    };
    world.write("home/.omp/plugins/omp-plugins.lock.json", &lock("null"));
    assert_eq!(world.names(), ["x.ts", "y.ts"]);
    world.write("home/.omp/plugins/omp-plugins.lock.json", &lock("[]"));
    assert_eq!(world.names(), ["x.ts"]);
    world.write(
        "p/.omp/plugin-overrides.json",
        r#"{"features":{"p":["g","h"]}}"#,
    );
    assert_eq!(world.names(), ["x.ts", "z.ts"]);
    assert!(world.only_problem().message.contains("no feature `h`"));
}

#[test]
fn plugins_are_switched_off_by_lock_file_and_overrides() {
    let world = plugin(&["x.ts"], r#"{"tools":"x.ts"}"#);
    let lock = "home/.omp/plugins/omp-plugins.lock.json";
    world.write(lock, r#"{"plugins":{"p":{"version":"1","enabled":false}}}"#);
    assert_eq!(world.names(), Vec::<String>::new());
    let by = world.path(lock).display().to_string();
    assert_eq!(
        world.verdict(&format!("{MODULES}/p")),
        Verdict::Disabled { by }
    );
    world
        .write(lock, "{}")
        .write("p/.omp/plugin-overrides.json", r#"{"disabled":["p"]}"#);
    assert_eq!(world.names(), Vec::<String>::new());
}

#[test]
fn convention_comes_before_the_manifest_and_is_not_doubled() {
    let world = plugin(
        &["tools/q.ts", "tools/a.ts", "tools/sub/index.ts"],
        r#"{"tools":["tools/q.ts","tools/a.ts"]}"#,
    );
    world.write(A, "");
    let modules = format!("{MODULES}/p/tools");
    assert_eq!(
        world.found(),
        [
            format!("native {A}"),
            format!("omp-plugins {modules}/q.ts"),
            format!("omp-plugins {modules}/sub/index.ts"),
            format!("plugin {modules}/a.ts"),
        ],
        "a manifest competes by path, not by key"
    );
    assert_eq!(
        world.problems(),
        [],
        "what a manifest brings back is not lost"
    );
}

#[test]
fn what_is_switched_off_is_not_brought_back_by_a_manifest() {
    let world = plugin(&["tools/q.ts"], r#"{"tools":["tools/q.ts"]}"#);
    world.write(
        "home/.omp/agent/settings.json",
        r#"{"disabledExtensions":["tool:q"]}"#,
    );
    assert_eq!(world.names(), Vec::<String>::new());
}

#[test]
fn only_named_packages_with_a_manifest_are_plugins() {
    let world = plugin(&["x.ts"], r#"null,"pi":{"tools":"x.ts"}"#);
    assert_eq!(world.names(), ["x.ts"], "`pi` counts where `omp` does not");
    world.write(
        &format!("{MODULES}/stray/package.json"),
        r#"{"omp":{"tools":"s.ts"}}"#,
    );
    world.write(&format!("{MODULES}/stray/s.ts"), "");
    assert_eq!(world.names(), ["x.ts"]);
    world.write(&format!("{MODULES}/p/package.json"), r#"{"version":"1"}"#);
    assert_eq!(world.names(), Vec::<String>::new());
    assert!(
        world
            .reason(&format!("{MODULES}/p"))
            .contains("neither `omp` nor `pi`")
    );
}

#[test]
fn names_of_the_lock_file_count_for_links_or_without_a_package_json() {
    let world = World::with(&["src/l/y.ts", "src/l/tools/k.ts"]);
    world.write("src/l/package.json", r#"{"omp":{"tools":"y.ts"}}"#);
    world.link("../../../../src/l", &format!("{MODULES}/l"));
    world.write("home/.omp/plugins/package.json", r#"{"dependencies":{}}"#);
    let lock = r#"{"plugins":{"l":{"version":"1","enabled":true},"stale":{"version":"1","enabled":true}}}"#;
    world.write("home/.omp/plugins/omp-plugins.lock.json", lock);
    world.write(
        &format!("{MODULES}/stale/package.json"),
        r#"{"omp":{"tools":"s.ts"}}"#,
    );
    world.write(&format!("{MODULES}/stale/s.ts"), "");
    assert_eq!(
        world.found(),
        [
            format!("omp-plugins {MODULES}/l/tools/k.ts"),
            format!("plugin {MODULES}/l/y.ts")
        ]
    );
    assert!(world.only_problem().message.contains("`stale`"));
    fs::remove_file(world.path("home/.omp/plugins/package.json")).expect("removed");
    assert!(world.names().contains(&"s.ts".to_owned()));
}

#[test]
fn a_projects_plugin_takes_the_place_of_the_users_and_is_the_projects() {
    let world = plugin(&["x.ts"], r#"{"tools":"x.ts"}"#);
    world.write(
        "home/.omp/plugins/package.json",
        r#"{"dependencies":{"p":"1","other":"1"}}"#,
    );
    world.write(
        &format!("{MODULES}/other/package.json"),
        r#"{"omp":{"tools":"o.ts"}}"#,
    );
    world.write(&format!("{MODULES}/other/o.ts"), "");
    let own = "p/.omp/plugins/node_modules/p";
    world.write(
        "p/.omp/plugins/package.json",
        r#"{"dependencies":{"p":"2"}}"#,
    );
    world.write(
        &format!("{own}/package.json"),
        r#"{"omp":{"tools":"own.ts"}}"#,
    );
    world.write(&format!("{own}/own.ts"), "");
    let scan = world.scan();
    let seen: Vec<_> = scan
        .candidates
        .iter()
        .map(|c| (world.short(&c.resolved), c.source.level))
        .collect();
    assert_eq!(
        seen,
        [
            (format!("{own}/own.ts"), Level::Project),
            (format!("{MODULES}/other/o.ts"), Level::User)
        ]
    );
    assert!(scan.candidates[0].needs_trust());
}

#[test]
fn the_project_of_plugins_is_the_nearest_omp_folder_else_git_never_home() {
    let own = "p/.omp/plugins/node_modules/p";
    let mut world = World::with(&["p/deep/er/keep", &format!("{own}/own.ts")]);
    world.write(
        "p/.omp/plugins/package.json",
        r#"{"dependencies":{"p":"2"}}"#,
    );
    world.write(
        &format!("{own}/package.json"),
        r#"{"omp":{"tools":"own.ts"}}"#,
    );
    world.flags.cwd = Some("deep/er".into());
    assert_eq!(world.names(), ["own.ts"]);
    world.mkdir("p/deep/.omp");
    assert_eq!(world.names(), Vec::<String>::new(), "the nearest wins");
    world.env.home = Some(world.path("p"));
    fs::remove_dir(world.path("p/deep/.omp")).expect("removed");
    let scan = world.scan();
    assert_eq!(scan.candidates.len(), 1, "as the user's own plugin");
    assert_eq!(scan.candidates[0].source.level, Level::User);
}

#[test]
fn one_malformed_file_never_aborts_the_rest() {
    let world = plugin(&["x.ts"], r#"{"tools":"x.ts"}"#);
    world.write(
        "home/.omp/plugins/package.json",
        r#"{"dependencies":{"bad":"1","odd":"1","p":"1"}}"#,
    );
    world.write(
        &format!("{MODULES}/bad/package.json"),
        "{\n\"omp\": {\"tools\": }\n}",
    );
    world.write(&format!("{MODULES}/odd/package.json"), r#"{"omp": "x.ts"}"#);
    world.write("home/.omp/plugins/omp-plugins.lock.json", "[");
    world.write("p/.omp/plugin-overrides.json", "nonsense");
    world.write("p/.omp/config.yml", "a: [1\nb: 2\n");
    world.write(A, "");
    assert_eq!(world.names(), ["a.ts", "x.ts"]);
    let problems = world.problems();
    assert_eq!(problems.len(), 5, "{problems:#?}");
    let bad = problems
        .iter()
        .find(|p| p.path == Some(world.path(&format!("{MODULES}/bad/package.json"))));
    let bad = bad.expect("the broken manifest");
    assert_eq!((bad.line, bad.column), (Some(2), Some(18)));
    assert!(
        problems
            .iter()
            .all(|p| p.hint.is_some() && p.severity == Severity::Warning)
    );
}

#[test]
fn marketplace_plugins_linked_into_node_modules_are_not_found_twice() {
    let world = World::with(&["m/a/tools/a.ts"]);
    world.write("m/a/package.json", r#"{"omp":{}}"#);
    world.link("../../../../m/a", &format!("{MODULES}/a"));
    world.write(
        "home/.omp/plugins/omp-plugins.lock.json",
        r#"{"plugins":{"a":{"version":"1","enabled":true}}}"#,
    );
    let plugins = serde_json::json!({"a@m": [{"installPath": world.path("m/a")}]});
    world.write(
        "home/.omp/plugins/installed_plugins.json",
        &registry(plugins),
    );
    assert_eq!(world.found(), ["claude-plugins m/a/tools/a.ts"]);
    assert_eq!(world.problems(), []);
}

// real-world mess

#[test]
fn pipes_sockets_and_folders_with_module_names_are_never_opened() {
    let world = World::with(&[A, "p/.omp/tools/dir.ts/readme"]);
    let _socket =
        std::os::unix::net::UnixListener::bind(world.path("p/.omp/tools/s.ts")).expect("a socket");
    fifo(&world.path("p/.omp/tools/f.ts"));
    world.mkdir("p/.omp/tools/sub");
    fifo(&world.path("p/.omp/tools/sub/index.ts"));
    fifo(&world.path("p/.omp/tools/.gitignore"));
    world.mkdir("p/.git");
    fifo(&world.path("p/.gitignore"));
    fifo(&world.path("p/.omp/config.yml"));
    fifo(&world.path("p/given.ts"));
    let mut world = world;
    world.flags.tools = vec!["given.ts".into()];
    assert_eq!(world.names(), ["a.ts"]);
    assert!(world.reason("p/.omp/tools/s.ts").contains("a socket"));
    assert!(world.reason("p/.omp/tools/f.ts").contains("a named pipe"));
    assert!(
        world
            .reason("p/.omp/tools/sub/index.ts")
            .contains("a named pipe")
    );
    assert!(world.reason("p/given.ts").contains("a named pipe"));
    assert!(world.reason("p/.omp/tools/dir.ts").contains("no index.ts"));
}

fn fifo(path: &Path) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("a pipe");
}

#[test]
fn a_folder_that_is_a_file_is_told() {
    let world = World::with(&["home/.claude/tools", A]);
    assert_eq!(world.names(), ["a.ts"]);
    assert_eq!(world.only_problem().message, "not a folder");
}

#[test]
fn unreadable_folders_are_told_and_the_rest_is_loaded() {
    if rustix::process::geteuid().is_root() {
        // Root reads everything; a link loop is what it cannot read either.
        let world = World::with(&["p/.claude/tools/c.ts"]);
        world.link("tools", "p/.omp/tools");
        assert_eq!(world.names(), ["c.ts"]);
        assert!(
            world
                .only_problem()
                .message
                .starts_with("the folder cannot be read")
        );
        return;
    }
    let world = World::with(&[A, "p/.claude/tools/c.ts"]);
    let locked = world.path("p/.omp/tools");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).expect("locked");
    let (names, problem) = (world.names(), world.only_problem());
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).expect("unlocked");
    assert_eq!(names, ["c.ts"]);
    assert_eq!(
        problem.message,
        "the folder cannot be read: permission denied"
    );
}

#[test]
fn names_that_are_no_text_are_refused_without_harm() {
    let world = World::with(&[
        "p/.omp/tools/with space.ts",
        "p/.omp/tools/new\nline.ts",
        "p/.omp/tools/ü.ts",
    ]);
    for name in [&b"bad\xff.ts"[..], &b"bad\xff.txt"[..]] {
        let path = world
            .path("p/.omp/tools")
            .join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, "").expect("a file");
    }
    assert_eq!(world.names(), ["new\nline.ts", "with space.ts", "ü.ts"]);
    assert_eq!(
        world.only_problem().message,
        "the file name is not valid UTF-8"
    );
}

#[test]
fn ten_thousand_foreign_files_are_all_accounted_for() {
    let world = World::with(&["home/.claude/tools/real.ts"]);
    for i in 0..10_000 {
        fs::write(world.path(&format!("home/.claude/tools/data{i}.bin")), "").expect("a file");
    }
    let scan = world.scan();
    assert_eq!(scan.candidates.len(), 1);
    let ignored = scan
        .looked_at
        .iter()
        .filter(|l| matches!(l.verdict, Verdict::Ignored { .. }));
    assert_eq!(ignored.count(), 10_000);
}

// configuration

fn configured(text: &str) -> World {
    let world = World::new();
    world.write("home/.config/haft/config.yaml", text);
    world
}

/// ikigai 50: they write files and run commands, so they are the user's decision and nobody else's.
#[test]
fn system_tools_are_off_unless_the_user_wants_them() {
    assert!(!World::new().config().system_tools);
    assert!(configured("system_tools: true\n").config().system_tools);

    let mut world = configured("system_tools: true\n");
    world.env.haft.insert("SYSTEM_TOOLS".into(), "no".into());
    assert!(!world.config().system_tools);
    world.flags.system_tools = true;
    assert!(world.config().system_tools);

    let mut world = World::new();
    world.write("p/.haft/config.yaml", "system_tools: true\n");
    assert!(!world.config().system_tools);
    world.flags.trust_project = true;
    let refusal = world.refusal();
    assert!(
        refusal
            .message()
            .contains("`system_tools` cannot stand in a project's file")
    );
    assert!(
        refusal
            .hint()
            .is_some_and(|hint| hint.contains("--system-tools"))
    );
}

#[test]
fn defaults_are_complete() {
    let config = World::new().config();
    assert_eq!(config.limits.call_timeout, None);
    assert_eq!(config.limits.load_timeout, Duration::from_secs(30));
    assert_eq!(config.limits.grace, Duration::from_secs(2));
    assert_eq!(config.limits.heap_mb, 512);
    assert_eq!(config.permissions.read, Permission::All);
    assert!(!config.trust_project);
    assert!(config.state_dir.ends_with("home/.local/state/haft"));
    assert!(config.cache_dir.ends_with("home/.cache/haft"));
}

#[test]
fn every_key_of_the_file_is_understood() {
    let world = configured(
        "tools: [x.ts, ~/y.ts, /z.ts]\n\
         trust_project: true\n\
         rename: {native: other}\n\
         disabled_extensions: ['tool:a']\n\
         disabled_providers: [codex]\n\
         limits: {call_timeout: 1m30s, load_timeout: 500ms, grace: 1.5s, heap_mb: 256}\n\
         permissions: {read: all, write: none, net: [a.example, 'b.example:80'], env: true, run: false, sys: []}\n\
         custom_tools: {enabled: true, global_dir: ~/k, anything: [1, {a: b}]}\n",
    );
    let config = world.config();
    let own = world.path("home/.config/haft/x.ts").display().to_string();
    assert_eq!(
        config.configured_paths,
        [own.as_str(), "~/y.ts", "/z.ts"],
        "relative to the file"
    );
    assert!(config.trust_project);
    assert_eq!(config.rename["native"], "other");
    assert_eq!(config.limits.call_timeout, Some(Duration::from_secs(90)));
    assert_eq!(config.limits.load_timeout, Duration::from_millis(500));
    assert_eq!(config.limits.grace, Duration::from_millis(1500));
    assert_eq!(config.limits.heap_mb, 256);
    let permissions = config.permissions;
    assert_eq!(
        (permissions.read, permissions.write),
        (Permission::All, Permission::None)
    );
    assert_eq!(
        permissions.net,
        Permission::List(vec!["a.example".into(), "b.example:80".into()])
    );
    assert_eq!(
        (permissions.env, permissions.run),
        (Permission::All, Permission::None)
    );
    assert_eq!(
        (permissions.sys, permissions.ffi),
        (Permission::None, Permission::All)
    );
}

#[test]
fn layers_win_from_high_to_low() {
    let mut world = configured(
        "limits: {grace: 1s, heap_mb: 100, load_timeout: 1s, call_timeout: 1s}\ntools: [/user.ts]\n",
    );
    world.write(
        "p/.haft/config.yaml",
        "limits: {heap_mb: 200, load_timeout: 2s, call_timeout: 2s}\ntools: [own.ts]\n",
    );
    world.env.haft.insert("LOAD_TIMEOUT".into(), "3s".into());
    world.env.haft.insert("CALL_TIMEOUT".into(), "none".into());
    world.env.haft.insert("TOOLS".into(), "/env.ts".into());
    world.flags.tools = vec!["flag.ts".into()];
    assert_eq!(
        world.config().limits.heap_mb,
        100,
        "an untrusted project configures nothing"
    );
    world.flags.trust_project = true;
    let config = world.config();
    let own = world.path("p/own.ts").display().to_string();
    assert_eq!(
        config.configured_paths,
        ["flag.ts", "/env.ts", own.as_str(), "/user.ts"]
    );
    let limits = &config.limits;
    assert_eq!(
        (limits.grace, limits.heap_mb),
        (Duration::from_secs(1), 200)
    );
    assert_eq!(
        (limits.load_timeout, limits.call_timeout),
        (Duration::from_secs(3), None)
    );
    world.flags.call_timeout = Some(Duration::from_secs(9));
    assert_eq!(
        world.config().limits.call_timeout,
        Some(Duration::from_secs(9))
    );
}

#[test]
fn a_project_cannot_trust_itself() {
    let mut world = World::new();
    world.write("p/.haft/config.yaml", "trust_project: true\n");
    assert!(!world.config().trust_project);
    world.flags.trust_project = true;
    assert!(
        world
            .refusal()
            .message()
            .contains("`trust_project` cannot stand in a project's file")
    );
}

#[test]
fn mistakes_in_the_file_have_a_place_and_a_hint() {
    for (text, place, message, hint) in [
        ("tolls: []\n", "1:1", "unknown key `tolls`", "`tools`"),
        (
            "limits:\n  call_timout: 1s\n",
            "2:3",
            "unknown key `call_timout`",
            "`call_timeout`",
        ),
        (
            "limits:\n  qqq: 1s\n",
            "2:3",
            "unknown key `qqq`",
            "known here: call_timeout",
        ),
        (
            "limits:\n  grace: 5\n",
            "2:10",
            "`5` is not a duration",
            "correct",
        ),
        (
            "limits:\n  grace: 5 days\n",
            "2:10",
            "`5 days` is not a duration",
            "correct",
        ),
        (
            "permissions:\n  net: some\n",
            "2:3",
            "`all`, `none` or a list",
            "correct",
        ),
        ("tools: [a\nb: 1\n", "", "", "correct"),
        ("- a\n", "1:1", "", "correct"),
    ] {
        let error = configured(text).refusal();
        assert_eq!(error.kind(), ErrorKind::Usage);
        let shown = format!("{} / {:?}", error.message(), error.hint());
        assert!(
            error.message().contains(&format!("config.yaml:{place}")),
            "{text}: {shown}"
        );
        assert!(error.message().contains(message), "{text}: {shown}");
        assert!(
            error.hint().is_some_and(|found| found.contains(hint)),
            "{text}: {shown}"
        );
        assert!(!error.message().contains('\n'), "{shown}");
    }
}

#[test]
fn an_empty_file_is_an_empty_configuration() {
    for text in [
        "",
        "# nothing yet\n",
        "---\n",
        "limits:\n",
        "\u{feff}tools: []\n",
    ] {
        let config = configured(text).config();
        assert_eq!(config.limits.heap_mb, 512, "{text:?}");
    }
}

#[test]
fn files_and_folders_that_are_named_must_exist() {
    let mut world = World::with(&["p/file"]);
    world.flags.config = Some("gone.yaml".into());
    let error = world.refusal();
    let text = format!(
        "the configuration file {} does not exist",
        world.path("p/gone.yaml").display()
    );
    assert_eq!(error.message(), text);
    world.write("p/gone.yaml", "limits: {heap_mb: 64}\n");
    assert_eq!(world.config().limits.heap_mb, 64);
    world.flags.cwd = Some("nowhere".into());
    assert!(
        world
            .refusal()
            .message()
            .ends_with("nowhere: it does not exist")
    );
    world.flags.cwd = Some("file".into());
    assert!(world.refusal().message().ends_with("file: not a directory"));
}

#[test]
fn wrong_variables_are_named() {
    for (name, value) in [
        ("GRACE", "soon"),
        ("HEAP_MB", "lots"),
        ("TRUST_PROJECT", "maybe"),
        ("SYSTEM_TOOLS", "some"),
    ] {
        let mut world = World::new();
        world.env.haft.insert(name.into(), value.into());
        let error = world.refusal();
        assert!(
            error
                .message()
                .starts_with(&format!("HAFT_{name}: `{value}`")),
            "{error}"
        );
        assert!(error.hint().is_some());
    }
}

#[test]
fn no_home_and_odd_base_directories_do_no_harm() {
    let mut world = World::with(&[A]);
    world.env.xdg_config_home = Some("relative".into());
    world.env.xdg_state_home = Some(world.path("state"));
    assert_eq!(world.config().state_dir, world.path("state/haft"));
    assert_eq!(world.config().roots.config_home, world.path("home/.config"));
    world.env.home = None;
    assert_eq!(world.config().home, Path::new("/nonexistent"));
    assert_eq!(world.names(), ["a.ts"]);
    world.env.current_dir = None;
    assert!(
        world
            .refusal()
            .message()
            .contains("the current directory does not exist any more")
    );
}

#[test]
fn too_little_memory_is_refused() {
    let mut world = World::new();
    world.flags.heap_mb = Some(4);
    assert!(world.refusal().message().starts_with("heap_mb 4"));
}

#[test]
fn durations_as_people_write_them() {
    use haft::parse_duration;
    for (text, millis) in [
        ("30s", 30_000),
        ("500ms", 500),
        ("2m", 120_000),
        ("1m30s", 90_000),
        ("1h", 3_600_000),
        ("1.5s", 1500),
        ("0s", 0),
        ("0.1s", 100),
    ] {
        assert_eq!(
            parse_duration(text),
            Ok(Duration::from_millis(millis)),
            "{text}"
        );
    }
    for text in [
        "",
        "30",
        "s",
        "1x",
        "-1s",
        "1s2",
        "1..2s",
        "99999999999999999999999h",
        "1 s",
    ] {
        assert!(parse_duration(text).is_err(), "{text}");
    }
}
