//! Files of a folder that are tools (omp.md 1.2).

use haft_tool::Problem;

use super::{A, World};

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
fn loops_of_links_end_and_dangling_links_are_reported() {
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
