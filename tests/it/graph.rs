//! The module graph: everything that importing a module can read, found without running it. Issue
//! 3, part 2 and 8: trust and the caches rely on it, so each case asks "would a change be
//! noticed?".

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use haft_engine::graph::{Checker, Graph, What, module_graph};

/// A folder with files; nothing in it is ever run.
struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn with(files: &[(&str, &str)]) -> Place {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let root = dir.path().canonicalize().expect("a real path");
        let place = Place { _dir: dir, root };
        for (path, text) in files {
            place.write(path, text);
        }
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    fn graph(&self, entry: &str) -> Graph {
        module_graph(&self.root.join(entry))
    }

    /// The files of the graph, relative to the place.
    fn files(&self, entry: &str) -> Vec<String> {
        let graph = self.graph(entry);
        graph.files.keys().map(|path| self.short(path)).collect()
    }

    fn short(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        path.display().to_string()
    }

    /// Returns true if the graph notices `change`, by checking its facts and by walking again.
    fn notices(&self, entry: &str, change: impl FnOnce(&Place)) -> bool {
        let before = self.graph(entry);
        assert!(Checker::default().holds(&before), "nothing has changed yet");
        let again = self.graph(entry);
        assert_eq!(before, again);
        change(self);
        let holds = Checker::default().holds(&before);
        let after = self.graph(entry);
        assert_eq!(holds, before == after, "checking and walking must agree");
        !holds
    }
}

fn opened_by(text: &str) -> Vec<What> {
    let place = Place::with(&[("t.ts", text), ("a.ts", "")]);
    let graph = place.graph("t.ts");
    assert_eq!(graph.is_open(), !graph.openings.is_empty());
    graph.openings.iter().map(|opening| opening.what).collect()
}

#[test]
fn imports_of_every_form_are_followed() {
    let place = Place::with(&[
        (
            "t.ts",
            r#"
            import a from "./a";
            import type { T } from "./types";
            import { type U, v } from "./b.js";
            import "./side.mjs";
            export * from "./c";
            export { d } from "./d.tsx";
            import data from "./data.json";
            import text from "./note.md" with { type: "text" };
            import conf from "./conf.yaml";
            import legacy = require("./legacy.cjs");
            const later = async () => await import(`./later`);
            const old = require("./old.js");
            const page = new URL("page.html", import.meta.url);
            const script = new URL("run.sh", import.meta.url);
            "#,
        ),
        ("a.ts", r#"export default 1; import "./deep/index.js""#),
        ("deep/index.ts", ""),
        ("types.ts", ""),
        ("b.ts", ""),
        ("side.mjs", ""),
        ("c/index.ts", ""),
        ("d.tsx", ""),
        ("data.json", "{}"),
        ("note.md", ""),
        ("conf.yaml", ""),
        ("legacy.cjs", r#"module.exports = require("./legacy-part")"#),
        ("legacy-part.js", ""),
        ("later.ts", ""),
        ("old.js", ""),
        ("page.html", ""),
        ("run.sh", ""),
        ("stranger.ts", ""),
    ]);
    let expected = [
        "a.ts",
        "b.ts",
        "c/index.ts",
        "conf.yaml",
        "d.tsx",
        "data.json",
        "deep/index.ts",
        "later.ts",
        "legacy-part.js",
        "legacy.cjs",
        "note.md",
        "old.js",
        "run.sh",
        "side.mjs",
        "t.ts",
    ];
    assert_eq!(place.files("t.ts"), expected);
    let graph = place.graph("t.ts");
    assert!(!graph.is_open(), "{:?}", graph.openings);
    assert!(graph.missing.is_empty(), "{:?}", graph.missing);
}

#[test]
fn packages_are_followed_with_their_manifests() {
    let place = Place::with(&[
        (
            "p/t.ts",
            r#"import x from "pkg/sub"; import y from "old"; import "zod"; import "node:fs""#,
        ),
        (
            "node_modules/pkg/package.json",
            r#"{"name":"pkg","exports":{"./sub":{"import":"./esm.js","require":"./no.cjs"}}}"#,
        ),
        ("node_modules/pkg/esm.js", r#"export * from "dep""#),
        ("node_modules/pkg/no.cjs", ""),
        (
            "node_modules/pkg/node_modules/dep/package.json",
            r#"{"name":"dep","main":"lib"}"#,
        ),
        (
            "node_modules/pkg/node_modules/dep/lib/index.js",
            r#"exports.a = require("../b")"#,
        ),
        ("node_modules/pkg/node_modules/dep/b.json", "{}"),
        ("node_modules/old/package.json", r#"{"name":"old"}"#),
        ("node_modules/old/index.js", ""),
    ]);
    let expected = [
        "node_modules/old/index.js",
        "node_modules/old/package.json",
        "node_modules/pkg/esm.js",
        "node_modules/pkg/node_modules/dep/b.json",
        "node_modules/pkg/node_modules/dep/lib/index.js",
        "node_modules/pkg/node_modules/dep/package.json",
        "node_modules/pkg/package.json",
        "p/t.ts",
    ];
    assert_eq!(place.files("p/t.ts"), expected);
    let graph = place.graph("p/t.ts");
    assert!(graph.builtins.contains("fs"));
    assert!(graph.missing.is_empty(), "{:?}", graph.missing);
}

#[test]
fn a_changed_byte_is_noticed_anywhere() {
    let files = [
        ("t.ts", r#"import "./helper"; import "pkg"; import "@/x""#),
        ("helper.ts", r#"import "./deep.json""#),
        ("deep.json", "{}"),
        ("tsconfig.json", r#"{"extends":"./base.json"}"#),
        (
            "base.json",
            r#"{"compilerOptions":{"paths":{"@/*":["./src/*"]}}}"#,
        ),
        ("src/x.ts", ""),
        ("node_modules/pkg/package.json", r#"{"main":"m.js"}"#),
        ("node_modules/pkg/m.js", ""),
    ];
    for (path, text) in files {
        let place = Place::with(&files);
        let longer = format!("{text}\n");
        assert!(
            place.notices("t.ts", |place| place.write(path, &longer)),
            "{path}"
        );
        // Only the bytes count.
        assert!(
            !place.notices("t.ts", |place| place.write(path, &longer)),
            "{path}"
        );
    }
}

#[test]
fn what_would_be_found_first_is_noticed_when_it_appears() {
    let files = [
        (
            "a/t.ts",
            r#"import "./helper"; import "pkg"; import "zod"; require("./data")"#,
        ),
        ("a/helper.ts", ""),
        ("a/data.json", "{}"),
        ("node_modules/pkg/index.js", ""),
    ];
    let newcomers = [
        "a/helper.tsx",
        "a/helper",
        "a/node_modules/pkg/index.js",
        "a/node_modules/zod/index.js",
        "node_modules/zod/index.js",
        "a/data.js",
        "a/package.json",
        "a/tsconfig.json",
        "node_modules/pkg/package.json",
    ];
    for newcomer in newcomers {
        let place = Place::with(&files);
        assert!(
            place.notices("a/t.ts", |place| place.write(newcomer, "")),
            "{newcomer}"
        );
    }
    for stranger in ["a/other.ts", "a/helper.md", "node_modules/other/index.js"] {
        let place = Place::with(&files);
        assert!(
            !place.notices("a/t.ts", |place| place.write(stranger, "")),
            "{stranger}"
        );
    }
}

#[test]
fn what_is_missing_is_noticed_when_it_comes() {
    let files = [(
        "t.ts",
        r#"import "./gone"; import "nopkg"; import "https://x.org/y.ts""#,
    )];
    let place = Place::with(&files);
    let missing = place.graph("t.ts").missing;
    let missing: Vec<_> = missing.values().flatten().collect();
    assert_eq!(missing, ["./gone", "https://x.org/y.ts", "nopkg"]);
    assert!(place.notices("t.ts", |place| place.write("gone.ts", "")));
    assert!(place.notices("t.ts", |place| {
        place.write("node_modules/nopkg/index.js", "")
    }));
    assert!(place.notices("entry.ts", |place| place.write("entry.ts", "")));
    assert!(place.notices("entry.ts", |place| {
        fs::remove_file(place.root.join("entry.ts")).expect("our file");
    }));
}

#[test]
fn a_link_that_leads_elsewhere_is_noticed() {
    let place = Place::with(&[
        ("t.ts", r#"import "pkg""#),
        ("one/index.js", "same"),
        ("two/index.js", "same"),
        ("two/other.js", ""),
        ("node_modules/keep", ""),
    ]);
    let link = place.root.join("node_modules/pkg");
    symlink(place.root.join("one"), &link).expect("a link");
    assert!(place.notices("t.ts", |_| {
        fs::remove_file(&link).expect("our link");
        symlink("../two", &link).expect("a link");
    }));
}

#[test]
fn imports_of_a_link_are_those_of_the_file() {
    let place = Place::with(&[
        ("t.ts", r#"import "./links/linked""#),
        ("links/own.ts", "beside the link"),
        ("real/file.ts", r#"import "./own""#),
        ("real/own.ts", "beside the file"),
    ]);
    let link = place.root.join("links/linked.ts");
    symlink(place.root.join("real/file.ts"), &link).expect("a link");
    assert_eq!(place.files("t.ts"), ["real/file.ts", "real/own.ts", "t.ts"]);
}

#[test]
fn a_link_in_place_of_a_file_or_a_folder_is_noticed() {
    let files = [
        ("a/t.ts", r#"import "./u""#),
        ("a/u.ts", r#"import "../v""#),
        ("v.ts", ""),
        ("b/c/u.ts", r#"import "../v""#),
        ("b/c/t.ts", r#"import "./u""#),
        ("b/v.ts", ""),
    ];
    let place = Place::with(&files);
    assert!(place.notices("a/t.ts", |place| {
        fs::remove_file(place.root.join("a/u.ts")).expect("our file");
        symlink("../b/c/u.ts", place.root.join("a/u.ts")).expect("a link");
    }));
    let place = Place::with(&files);
    assert!(place.notices("a/t.ts", |place| {
        fs::remove_dir_all(place.root.join("a")).expect("our folder");
        symlink("b/c", place.root.join("a")).expect("a link");
    }));
}

#[test]
fn data_that_a_module_names_is_an_asset() {
    let place = Place::with(&[("t.ts", r#"new URL("./prompt.md", import.meta.url)"#)]);
    assert_eq!(place.files("t.ts"), ["t.ts"]);
    assert!(place.notices("t.ts", |place| place.write("prompt.md", "Be kind.")));
    assert!(place.notices("t.ts", |place| place.write("prompt.md", "Be brief.")));
}

#[test]
fn circles_end() {
    let place = Place::with(&[
        ("t.ts", r#"import "./u""#),
        ("u.ts", r#"import "./t"; import "./u""#),
    ]);
    assert_eq!(place.files("t.ts"), ["t.ts", "u.ts"]);
}

#[test]
fn what_no_reading_can_follow_is_listed() {
    let cases: &[(&str, &[What])] = &[
        ("import('./a')", &[]),
        (
            "require('./a'); module.require('./a'); require.resolve('./a')",
            &[],
        ),
        ("if (typeof require === 'function') require.main", &[]),
        (
            "import { createRequire } from 'node:module';\n\
             const load = createRequire(import.meta.url); load('./a')",
            &[],
        ),
        ("import(name)", &[What::ComputedImport]),
        ("import(`./${name}`)", &[What::ComputedImport]),
        ("import('./' + name)", &[What::ComputedImport]),
        ("require(name)", &[What::ComputedRequire]),
        (
            "const load = require; load('./a')",
            &[What::ComputedRequire],
        ),
        ("f({ require })", &[What::ComputedRequire]),
        (
            "import { createRequire } from 'module'; createRequire('/etc/')('x')",
            &[What::ComputedRequire],
        ),
        ("eval('1')", &[What::CodeFromText]),
        ("(0, eval)('1')", &[What::CodeFromText]),
        ("new Function('return 1')", &[What::CodeFromText]),
        ("import vm from 'node:vm'", &[What::CodeFromText]),
        ("import 'data:text/javascript,1'", &[What::CodeFromText]),
        ("new Worker(new URL('./a.ts', import.meta.url))", &[]),
        ("new Worker(name)", &[What::Worker]),
        ("process.dlopen({}, 'x.node')", &[What::NativeCode]),
        ("import {", &[What::Unreadable]),
        ("r\\u0065quire(name)", &[What::ComputedRequire]),
        (
            "const obj = { require: 1 }; obj.import = 'require(x)'; // eval(x)",
            &[],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(opened_by(text), *expected, "{text}");
    }
}

#[test]
fn an_opening_has_its_place() {
    let place = Place::with(&[
        ("t.ts", "import './h'"),
        ("h.ts", "const a = 1;\n\nawait import(process.argv[2]!);\n"),
    ]);
    let graph = place.graph("t.ts");
    let openings: Vec<_> = graph
        .openings
        .iter()
        .map(|opening| (place.short(&opening.path), opening.line))
        .collect();
    assert_eq!(openings, [("h.ts".to_owned(), 3)]);
}

#[test]
fn pipes_are_never_opened() {
    let place = Place::with(&[("t.ts", "import './pipe'; import './pipe.json'")]);
    for name in ["pipe", "pipe.json", "package.json"] {
        let made = std::process::Command::new("mkfifo")
            .arg(place.root.join(name))
            .status()
            .expect("mkfifo is on every machine");
        assert!(made.success());
    }
    assert_eq!(place.files("t.ts"), ["t.ts"]);
}

#[test]
fn hostile_nesting_is_no_end() {
    // Each of these overflows a recursive parser with an ordinary stack. The depths are just below
    // the limits of the reader, and above them.
    for deep in [1_900, 16_000, 49_000, 200_000] {
        for text in [
            format!("{}1{}", "(".repeat(deep), ")".repeat(deep)),
            format!("x{}", "+1".repeat(deep)),
            format!("{}1", "!".repeat(deep)),
            format!("{}1", "a=>".repeat(deep)),
            format!("{}{}", "{".repeat(deep), "}".repeat(deep)),
            format!("{}x", "if(a);else ".repeat(deep)),
            format!("x{}", ".a".repeat(deep)),
            format!("x{}", "()".repeat(deep)),
        ] {
            let text = format!("import './a';\n{text}");
            let place = Place::with(&[("t.ts", &text), ("a.ts", "")]);
            let graph = place.graph("t.ts");
            assert!(graph.files.len() == 2 || graph.is_open());
        }
    }
}

#[test]
fn a_graph_is_the_same_after_it_was_stored() {
    let place = Place::with(&[("t.ts", ""), ("u.ts", "")]);
    let (t, u) = (place.graph("t.ts"), place.graph("u.ts"));
    assert_ne!(t, u, "another file");
    let stored = serde_json::to_string(&t).expect("a graph can be stored");
    let back: Graph = serde_json::from_str(&stored).expect("and read again");
    assert_eq!(back, t);
    assert!(Checker::default().holds(&back));
}
