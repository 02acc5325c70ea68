//! Files that `.gitignore` hides (omp.md 1.2).

use super::{A, World};

/// Returns those of a.ts and b.ts that these ignore files do not hide.
fn survivors(files: &[(&str, &str)]) -> Vec<String> {
    let world = World::with(&[A, "p/.omp/tools/b.ts"]);
    for (path, text) in files {
        if text.is_empty() {
            world.mkdir(path)
        } else {
            world.write(path, text)
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
fn gitignore_does_not_apply_to_sub_folders_and_hidden_files_are_reported() {
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
