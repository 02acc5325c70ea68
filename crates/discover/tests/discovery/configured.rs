//! Paths that are configured or given (omp.md 1.3).

use std::path::Path;

use haft_discover::{Verdict, given};
use haft_tool::Level;
use haft_tool::Severity;

use super::{A, World};

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
