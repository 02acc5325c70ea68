//! Installed plugins (omp.md 3).

use std::fs;

use haft_discover::Verdict;
use haft_tool::Level;
use haft_tool::Severity;

use super::{A, World, registry};

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
fn manifest_entries_without_a_file_are_reported() {
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

/// Folder of the project's plugin.
const OWN: &str = "p/.omp/plugins/node_modules/p";

/// Installs that plugin, whose tool is `own.ts`.
fn the_project_has_a_plugin(world: &World) {
    world.write(
        "p/.omp/plugins/package.json",
        r#"{"dependencies":{"p":"2"}}"#,
    );
    world.write(
        &format!("{OWN}/package.json"),
        r#"{"omp":{"tools":"own.ts"}}"#,
    );
    world.write(&format!("{OWN}/own.ts"), "");
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
    the_project_has_a_plugin(&world);
    let scan = world.scan();
    let seen: Vec<_> = scan
        .candidates
        .iter()
        .map(|c| (world.short(&c.resolved), c.source.level))
        .collect();
    assert_eq!(
        seen,
        [
            (format!("{OWN}/own.ts"), Level::Project),
            (format!("{MODULES}/other/o.ts"), Level::User)
        ]
    );
    assert!(scan.candidates[0].needs_trust());
}

#[test]
fn the_project_of_plugins_is_the_nearest_omp_folder_else_git_never_home() {
    let mut world = World::with(&["p/deep/er/keep"]);
    the_project_has_a_plugin(&world);
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
