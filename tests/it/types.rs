//! `haft types`, checked by the compilers that read its output.

use std::process::Stdio;

use crate::sandbox::Sandbox;

/// A module that stands for the npm package.
const PACKAGE: &str = "\
export interface Tools {}
export declare function call<Name extends keyof Tools>(
  name: Name,
  args: Tools[Name] extends { input: infer Input } ? Input : never,
): Promise<Tools[Name] extends { output: infer Output } ? Output : never>;
";

/// A program that uses the declarations of the package's own test.
const PROGRAM: &str = r##"
import { call } from "haft";
const log: Array<{ sha: string }> = await call("git_log", {
  n: 1, "not-a-name": "x", undeclared: 5, kind: "a", pair: [1], nested: { deep: { x: 1 } },
});
log[0]!.sha.trim();
await call("unions", { base: "b", more: 1, kind: "circle", r: 2 });
await call("empty", {});
await call("1 \"odd\" name\u202e", { root: { children: [{ children: [] }] } });
await call("rest", { a: "x", "x-1": 5 });
// @ts-expect-error: an unknown tool
await call("gitlog", {});
// @ts-expect-error: a property is missing
await call("git_log", { n: 1 });
// @ts-expect-error: an unknown property
await call("git_log", { n: 1, "not-a-name": "x", undeclared: 5, typo: 1 });
// @ts-expect-error: a value of another branch
await call("unions", { base: "b", more: 1, kind: "circle", side: 2 });
"##;

const TOOLS: &str = r#"
export default (pi) => [
  { name: "greet", description: "Greets. */ */", parameters: pi.zod.object({
      name: pi.zod.string().describe("Whom to greet"), times: pi.zod.number().optional() }),
    execute: async () => ({ content: [] }) },
  { name: "hidden", description: "Hidden", hidden: true, parameters: { type: "object" },
    execute: async () => ({ content: [] }) },
];
"#;

fn root(path: &str) -> String {
    format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs the TypeScript compiler on files of the sandbox and expects no errors.
fn compile(sandbox: &Sandbox, files: &[&str]) {
    let output = sandbox
        .command("node")
        .arg(root("node_modules/typescript/bin/tsc"))
        .args(["--strict", "--noEmit", "--target", "es2022"])
        .args(["--module", "nodenext", "--moduleResolution", "nodenext"])
        .args(files)
        .output()
        .expect("node is needed for these tests");
    let errors = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{errors}");
}

/// Returns what `haft types` prints with these arguments.
fn types(sandbox: &Sandbox, args: &[&str]) -> String {
    let output = sandbox
        .haft()
        .args(["--tool", "tools.ts", "types"])
        .args(args)
        .stderr(Stdio::inherit())
        .output()
        .expect("haft starts");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn typescript_accepts_the_declarations_and_finds_wrong_calls() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let package = r#"{"name":"haft","version":"1.0.0","types":"index.d.ts"}"#;
    sandbox.write("node_modules/haft/package.json", package);
    sandbox.write("node_modules/haft/index.d.ts", PACKAGE);
    let hard = std::fs::read_to_string(root("crates/tool/src/types/expected.d.ts"));
    sandbox.write("hard.d.ts", &hard.expect("a file of the checkout"));
    sandbox.write("program.mts", PROGRAM);
    compile(&sandbox, &["program.mts", "hard.d.ts"]);
    let declared = types(&sandbox, &[]);
    assert_eq!(
        declared,
        r#"// Written by `haft types`: run it again when the tools change.

export {};

declare module "haft" {
  interface Tools {
    /** Greets. *\/ *\/ */
    "greet": {
      input: {
        /** Whom to greet */
        name: string;
        times?: number;
      };
      output: unknown;
    };
  }
}
"#
    );
    sandbox.write("tools.d.ts", &declared);
    sandbox.write(
        "greet.mts",
        "import { call } from \"haft\";\n\
         await call(\"greet\", { name: \"Ada\" });\n\
         // @ts-expect-error: a number\n\
         await call(\"greet\", { name: 5 });\n",
    );
    compile(&sandbox, &["greet.mts", "tools.d.ts"]);
    // Named tools may be hidden.
    assert!(types(&sandbox, &["hidden", "hidden"]).contains("\"hidden\": {"));
}

#[test]
fn python_accepts_the_declarations() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let hard = std::fs::read_to_string(root("crates/tool/src/types/expected.py"));
    sandbox.write("hard.py", &hard.expect("a file of the checkout"));
    let declared = types(&sandbox, &["--python"]);
    assert_eq!(
        declared,
        r##"# Written by `haft types --python`: run it again when the tools change.
#
# The tools, with the types of their arguments and structured results:
#   greet: GreetInput -> Any

from __future__ import annotations

from typing import TypedDict

class GreetInputRequired(TypedDict):
    # Whom to greet
    name: str

class GreetInput(GreetInputRequired, total=False):
    """Greets. */ */"""

    times: float
"##
    );
    sandbox.write("tools.py", &declared);
    let check = "import typing, hard, tools\n\
        for module in hard, tools:\n\
        \x20   for name, value in vars(module).items():\n\
        \x20       if isinstance(value, type) and name.endswith('Input'):\n\
        \x20           typing.get_type_hints(value)\n\
        \x20       if isinstance(value, str) and not name.startswith('__'):\n\
        \x20           eval(value, vars(module))\n\
        assert hard.GitLog2Input.__doc__.startswith('Reads the log. */')\n";
    let output = sandbox
        .command("python3")
        .args(["-c", check])
        .output()
        .expect("Python is needed for these tests");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

/// Dialects of `haft new js`, each with the folder of its new module.
const NEW: [(&str, &str); 7] = [
    ("oh-my-pi", ".omp/tools/greet"),
    ("pi", ".pi/extensions/greet"),
    ("opencode", ".opencode/tools"),
    ("claude-agent-sdk", ".claude/tools"),
    ("ai-sdk", ".omp/tools/greet"),
    ("copilot", ".github/extensions/greet"),
    ("openclaw", ".omp/tools/greet"),
];

/// Each new tool passes its own tests, and the compiler without any package.
#[test]
fn new_tools_of_each_dialect_compile_and_pass_their_tests() {
    for (dialect, folder) in NEW {
        let sandbox = Sandbox::with_home();
        let run = |args: &[&str]| {
            let output = sandbox.haft().args(args).output().expect("haft starts");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{dialect}: {text}{errors}");
            text
        };
        run(&["new", "js", "greet", "--dialect", dialect]);
        let compiler = sandbox
            .command("node")
            .arg(root("node_modules/typescript/bin/tsc"))
            .args(["-p", folder])
            .output()
            .expect("node is needed for these tests");
        let errors = String::from_utf8_lossy(&compiler.stdout);
        assert!(compiler.status.success(), "{dialect}: {errors}");
        let tests = run(&["--trust-project", "test", folder]);
        assert!(tests.contains("3 passed, 0 failed"), "{dialect}: {tests}");
        let greeting = run(&["--trust-project", "call", "greet", "--arg", "name=Ada"]);
        assert_eq!(greeting, "Hello, Ada!\n", "{dialect}");
    }
}

/// Tools of scripts, with names that are no identifiers.
const SCRIPT_TOOLS: &str = r##"
const tool = (name, parameters) =>
  ({ name, description: "*/ hostile \u202e", parameters, approval: "read",
    execute: async (_id, { n = 1 }) => ({ content: [{ type: "text", text: "x" }], details: { n } }) });
const n = { type: "object", properties: { n: { type: "number" } } };
export default (pi) => [
  tool("plain", n), tool("the-name", n), tool("delete", n), tool("__proto__", n), tool("1st", n), tool('a"b', n),
  tool("needs", { type: "object", properties: { tree: { $ref: "#/$defs/tree" } }, required: ["tree"],
    $defs: { tree: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/tree" } } } } } }),
];
"##;

/// A script as editors see it, with the types of results that were observed.
const SCRIPT: &str = r#"
const first = await tools.plain({ n: 1 });
const count: number = first.details.n;
await tools.the_name(); await tools.delete(); await tools.__proto__(); await tools._1st(); await tools.a_b();
await tools.needs({ tree: { children: [{}] } });
const whole = await tools.plain.raw();
text(whole.isError); image({ data: "", mimeType: "image/png" }); text(args.n);
const found: string = await tools.$search("words", { limit: 2 });
// @ts-expect-error: an argument is missing
await tools.needs();
// @ts-expect-error: a text
await tools.plain({ n: "1" });
// @ts-expect-error: no such tool
await tools.nothing();
"#;

#[test]
fn typescript_accepts_the_globals_of_scripts_and_learned_results() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", SCRIPT_TOOLS);
    let run = |code: &str| {
        let ran = sandbox
            .haft()
            .args(["--tool", "tools.ts", "run", "-e", code])
            .output()
            .expect("haft starts");
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    };
    run("await tools.plain({ n: 1 }); await tools.plain({ n: 1.5 })");
    let learned = sandbox
        .haft()
        .args(["--tool", "tools.ts", "types", "--learn"])
        .output()
        .expect("haft starts");
    assert_eq!(
        String::from_utf8_lossy(&learned.stderr),
        "plain: 2 results\n"
    );
    types(&sandbox, &["--script", "--out", "globals.d.ts"]);
    let declared =
        std::fs::read_to_string(sandbox.path().join("globals.d.ts")).expect("it was written");
    assert!(
        declared.contains("The type of the result was observed in 2 results; it is not declared."),
        "{declared}"
    );
    sandbox.write("script.ts", SCRIPT);
    let settings = r#"{ "compilerOptions": { "strict": true, "noEmit": true, "target": "esnext", "module": "esnext",
      "lib": ["esnext"], "types": [], "moduleDetection": "force" }, "files": ["script.ts", "globals.d.ts"] }"#;
    sandbox.write("tsconfig.json", settings);
    let checked = sandbox
        .command("node")
        .arg(root("node_modules/typescript/bin/tsc"))
        .args(["-p", "tsconfig.json"])
        .output()
        .expect("node is needed for these tests");
    let errors = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{errors}");
}
