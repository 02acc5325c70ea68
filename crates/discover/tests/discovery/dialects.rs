//! The places of pi, opencode and GitHub Copilot (dialects 1.1, 1.2, 1.5).

use haft_discover::Verdict;
use haft_tool::{Level, TrustDomain};

use super::World;

#[test]
fn extensions_of_pi_are_files_indexes_and_declared_files() {
    let world = World::with(&[
        "home/.pi/agent/extensions/one.ts",
        "p/.pi/extensions/two/index.ts",
        "p/.pi/extensions/three/src/main.ts",
        "p/.pi/extensions/three/index.ts",
        "p/.pi/extensions/notes/readme.md",
        "p/.pi/extensions/node_modules/package/index.ts",
    ]);
    world.write(
        "p/.pi/extensions/three/package.json",
        r#"{"pi":{"extensions":["./src/main.ts"]}}"#,
    );
    assert_eq!(
        world.found(),
        [
            "pi home/.pi/agent/extensions/one.ts",
            "pi p/.pi/extensions/three/src/main.ts",
            "pi p/.pi/extensions/two/index.ts",
        ]
    );
    assert!(matches!(
        world.verdict("p/.pi/extensions/notes"),
        Verdict::Ignored { .. }
    ));
}

#[test]
fn packages_of_pi_are_found_where_pi_installs_them() {
    let world = World::with(&[
        "home/.pi/agent/npm/node_modules/@scope/one/index.ts",
        "home/.pi/agent/git/github.com/user/two/extensions/two.ts",
        "p/.pi/git/github.com/user/three/index.js",
        "p/local/four.ts",
    ]);
    world.write(
        "home/.pi/agent/settings.json",
        r#"{"packages":["npm:@scope/one@1.2.3","git:git@github.com:user/two@v1",
            {"source":"npm:skills-only","extensions":[]},"npm:gone"]}"#,
    );
    world.write(
        "p/.pi/settings.json",
        r#"{"packages":["https://github.com/user/three.git"],"extensions":["../local/four.ts"]}"#,
    );
    assert_eq!(
        world.found(),
        [
            "pi-packages home/.pi/agent/npm/node_modules/@scope/one/index.ts",
            "pi-packages home/.pi/agent/git/github.com/user/two/extensions/two.ts",
            "pi-packages p/.pi/git/github.com/user/three/index.js",
            "pi-packages p/local/four.ts",
        ]
    );
    let scan = world.scan();
    assert_eq!(
        scan.problems[0].message,
        "the pi package `npm:gone` is not installed"
    );
    // A package of the user is other people's code; one of the project has to be trusted.
    assert_eq!(scan.candidates[0].trust_domain(), TrustDomain::Plugins);
    assert_eq!(scan.candidates[2].trust_domain(), TrustDomain::Project);
}

#[test]
fn a_declared_file_of_a_package_that_is_missing_is_a_problem() {
    let world = World::with(&["p/.pi/extensions/one/index.ts"]);
    world.write(
        "p/.pi/extensions/one/package.json",
        r#"{"pi":{"extensions":["./gone.ts"]}}"#,
    );
    assert_eq!(world.found(), Vec::<String>::new());
    assert_eq!(
        world.scan().problems[0].message,
        "`pi.extensions` names `./gone.ts`, and there is no such file"
    );
}

#[test]
fn folders_of_opencode_count_up_to_the_root_of_the_repository() {
    let world = World::with(&[
        "p/.opencode/tool/one.ts",
        "p/.opencode/tools/two.js",
        "p/.opencode/tools/deeper/three.ts",
        "p/.opencode/plugins/four.ts",
        "home/.config/opencode/tools/five.ts",
        ".opencode/tool/above.ts",
    ]);
    let inside = [
        "opencode p/.opencode/tool/one.ts",
        "opencode p/.opencode/tools/two.js",
        "opencode p/.opencode/plugins/four.ts",
    ];
    let user = "opencode home/.config/opencode/tools/five.ts";
    assert_eq!(world.found(), [inside.as_slice(), &[user]].concat());
    world.mkdir(".git");
    let above = "opencode .opencode/tool/above.ts";
    assert_eq!(world.found(), [inside.as_slice(), &[above, user]].concat());
}

#[test]
fn extensions_of_copilot_are_folders_with_one_module() {
    let world = World::with(&[
        "p/.github/extensions/one/extension.mjs",
        "p/.github/extensions/two/index.js",
        "home/.copilot/extensions/three/extension.mjs",
    ]);
    let scan = world.scan();
    let found: Vec<(&str, Level)> = (scan.candidates.iter())
        .map(|candidate| (candidate.key.as_str(), candidate.source.level))
        .collect();
    assert_eq!(found, [("one", Level::Project), ("three", Level::User)]);
}

#[test]
fn opencode_plugins_are_found_where_opencode_installs_them() {
    let world = World::with(&[
        "home/.cache/opencode/node_modules/one/dist/index.js",
        "home/.cache/opencode/packages/@scope/two@1.2.3/node_modules/@scope/two/server.js",
        "p/node_modules/three/index.js",
        "p/plugins/four.ts",
        "p/.opencode/opencode.json",
    ]);
    world.write(
        "home/.cache/opencode/node_modules/one/package.json",
        r#"{"exports":{".":{"types":"./x.d.ts","import":"./dist/index.js"}}}"#,
    );
    world.write(
        "home/.cache/opencode/packages/@scope/two@1.2.3/node_modules/@scope/two/package.json",
        r#"{"main":"./none.js","exports":{"./server":{"import":"./server.js"}}}"#,
    );
    world.write(
        "home/.config/opencode/opencode.jsonc",
        "{\n  // The user's.\n  \"plugin\": [\"one\", [\"@scope/two@1.2.3\", {\"on\": true}], \"gone@2\"],\n}",
    );
    world.write(
        "p/opencode.json",
        r#"{"plugin":["three@latest","./plugins/four.ts"]}"#,
    );
    world.write("p/.opencode/opencode.json", r#"{"plugin":"no list"}"#);
    assert_eq!(
        world.found(),
        [
            "opencode-plugins p/node_modules/three/index.js",
            "opencode-plugins p/plugins/four.ts",
            "opencode-plugins home/.cache/opencode/node_modules/one/dist/index.js",
            "opencode-plugins home/.cache/opencode/packages/@scope/two@1.2.3/node_modules/@scope/two/server.js",
        ]
    );
    assert_eq!(
        world.only_problem().message,
        "the opencode plugin `gone@2` is not installed"
    );
    let candidates = world.scan().candidates;
    assert_eq!(candidates[0].trust_domain(), TrustDomain::Project);
    assert_eq!(candidates[2].trust_domain(), TrustDomain::Plugins);
}

#[test]
fn toolboxes_of_amp_are_executables_and_those_below_the_project_are_its_own() {
    let mut world = World::with(&[
        "home/.config/amp/tools/one",
        "home/.config/amp/tools/notes.md",
        "home/.config/amp/skills/maths/toolbox/two",
        "p/.agents/tools/three",
        "p/box/four",
        "more/five",
    ]);
    for file in [
        "home/.config/amp/tools/one",
        "home/.config/amp/skills/maths/toolbox/two",
        "p/.agents/tools/three",
        "p/box/four",
        "more/five",
    ] {
        world.executable(file);
    }
    world.env.amp_toolbox = Some(format!("{}:box:", world.path("more").display()));
    assert_eq!(
        world.found(),
        [
            "amp more/five",
            "amp p/box/four",
            "amp home/.config/amp/tools/one",
            "amp p/.agents/tools/three",
            "amp home/.config/amp/skills/maths/toolbox/two",
        ]
    );
    let levels = world.scan().candidates.into_iter();
    let levels: Vec<Level> = levels.map(|candidate| candidate.source.level).collect();
    use Level::{Project, User};
    assert_eq!(levels, [User, Project, User, Project, User]);
    assert!(
        world
            .reason("home/.config/amp/tools/notes.md")
            .contains("chmod +x")
    );
}

#[test]
fn settings_of_gemini_are_a_candidate_if_they_name_both_commands() {
    let world = World::new();
    world.write(
        "home/.gemini/settings.json",
        "{ // Comments are allowed.\n \"tools\": {\"discoveryCommand\": \"a\", \"callCommand\": \"b\"} }",
    );
    world.write(
        "p/.gemini/settings.json",
        r#"{"toolDiscoveryCommand": "a", "mcpServers": {}}"#,
    );
    assert_eq!(world.found(), ["gemini home/.gemini/settings.json"]);
    assert!(
        world
            .only_problem()
            .message
            .contains("`tools.callCommand` is missing")
    );
    world.write("p/.gemini/settings.json", r#"{"theme": "dark"}"#);
    assert_eq!(
        world.reason("p/.gemini/settings.json"),
        "it has no `tools.discoveryCommand`"
    );
}
