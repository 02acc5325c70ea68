//! Plugins of Claude's marketplace (omp.md 2).

use haft_discover::Verdict;
use haft_tool::Level;

use super::{World, registry};

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
fn broken_registries_and_entries_are_reported_and_the_rest_is_loaded() {
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
