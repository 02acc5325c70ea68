//! Keys by which one file hides another, and files that are switched off (omp.md 1.2).

use haft_discover::Verdict;
use haft_tool::Severity;

use super::{A, World};

#[test]
fn a_project_file_hides_the_users_and_that_is_reported() {
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
