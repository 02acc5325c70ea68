//! Places of tools, their order, and the settings that move them (omp.md 1.1).

use haft_discover::Verdict;
use haft_tool::Level;

use super::{A, World};

#[test]
fn empty_folders_have_no_tools_and_no_problems() {
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
        26,
        "the twenty-six fixed places are named as missing: {scan:#?}"
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
