//! Verified loading: a project's module gets the trusted bytes of a file or an error, whatever API
//! it uses.
//!
//! Each shape is one tool. Its file that changes holds `one`. After the change, the tool may answer
//! anything but `EVIL`.

use std::fs;
use std::time::Duration;

use haft::{Call, Config, Event, Host};
use serde_json::value::RawValue;

use crate::sandbox::Sandbox;

/// Result of a shape while all files are as they were trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trusted {
    /// The file is found by reading the tool, so it belongs to the grant.
    Runs,
    /// The file that it loads is known only when the tool runs.
    IsRefused,
}

struct Shape {
    name: &'static str,
    /// The extension of the tool's file.
    extension: &'static str,
    /// Code before the factory.
    head: &'static str,
    /// Result of `execute`.
    body: &'static str,
    /// The file that changes, below `lib`, and its text.
    file: &'static str,
    text: &'static str,
    trusted: Trusted,
}

const ESM: &str = "export const value = 'one';\n";
const CJS: &str = "module.exports = 'one';\n";
const EXPRESSION: &str = "'one' + String.fromCharCode(0).slice(1)\n";

const fn runs(
    name: &'static str,
    head: &'static str,
    body: &'static str,
    file: &'static str,
    text: &'static str,
) -> Shape {
    Shape {
        name,
        extension: "ts",
        head,
        body,
        file,
        text,
        trusted: Trusted::Runs,
    }
}

const fn refused(
    name: &'static str,
    head: &'static str,
    body: &'static str,
    file: &'static str,
    text: &'static str,
) -> Shape {
    Shape {
        trusted: Trusted::IsRefused,
        ..runs(name, head, body, file, text)
    }
}

impl Shape {
    /// Returns the text of its file. Code has a unique text, since the same bytes may be trusted
    /// elsewhere.
    fn content(&self) -> String {
        if self.trusted == Trusted::IsRefused && !self.file.ends_with("json") {
            format!("{}// {}\n", self.text, self.name)
        } else {
            self.text.to_owned()
        }
    }
}

const READ: &str = "import { readFileSync } from 'node:fs';\n\
     const text = (file) => readFileSync(new URL('../../lib/' + file, import.meta.url), 'utf8');\n";

const SHAPES: &[Shape] = &[
    runs(
        "static_import",
        "import { value } from '../../lib/static.ts';",
        "value",
        "static.ts",
        ESM,
    ),
    runs(
        "re_export",
        "import { value } from '../../lib/outer.ts';",
        "value",
        "inner.ts",
        ESM,
    ),
    runs(
        "late_import",
        "",
        "(await import('../../lib/late.ts')).value",
        "late.ts",
        ESM,
    ),
    runs(
        "other_extension",
        "import { value } from '../../lib/written.js';",
        "value",
        "written.ts",
        ESM,
    ),
    runs(
        "no_extension",
        "import { value } from '../../lib/plain';",
        "value",
        "plain.ts",
        ESM,
    ),
    runs(
        "text_file",
        "import value from '../../lib/note.txt';",
        "value",
        "note.txt",
        "one",
    ),
    runs(
        "text_attribute",
        "import value from '../../lib/as.ts' with { type: 'text' };",
        "value",
        "as.ts",
        "one",
    ),
    runs(
        "json_file",
        "import value from '../../lib/data.json';",
        "value.it",
        "data.json",
        "{\"it\": \"one\"}",
    ),
    runs(
        "json_attribute",
        "import value from '../../lib/attr.json' with { type: 'json' };",
        "value.it",
        "attr.json",
        "{\"it\": \"one\"}",
    ),
    runs(
        "yaml_file",
        "import value from '../../lib/data.yaml';",
        "value.it",
        "data.yaml",
        "it: one\n",
    ),
    runs(
        "toml_file",
        "import value from '../../lib/data.toml';",
        "value.it",
        "data.toml",
        "it = \"one\"\n",
    ),
    runs(
        "query",
        "",
        "(await import('../../lib/query.ts?fresh')).value",
        "query.ts",
        ESM,
    ),
    runs(
        "require_js",
        "",
        "require('../../lib/common.cjs')",
        "common.cjs",
        CJS,
    ),
    runs(
        "require_json",
        "",
        "require('../../lib/common.json').it",
        "common.json",
        "{\"it\": \"one\"}",
    ),
    runs(
        "require_txt",
        "",
        "require('../../lib/code.txt')",
        "code.txt",
        CJS,
    ),
    runs(
        "require_md",
        "",
        "require('../../lib/code.md')",
        "code.md",
        CJS,
    ),
    runs(
        "require_yaml",
        "",
        "require('../../lib/code.yaml')",
        "code.yaml",
        CJS,
    ),
    runs(
        "require_svg",
        "",
        "require('../../lib/code.svg')",
        "code.svg",
        CJS,
    ),
    runs(
        "require_nested",
        "",
        "require('../../lib/nest.txt')",
        "nested.cjs",
        CJS,
    ),
    runs(
        "require_ts",
        "",
        "require('../../lib/typed.ts').value",
        "typed.ts",
        ESM,
    ),
    runs(
        "require_folder",
        "",
        "require('../../lib/folder')",
        "folder/main.js",
        CJS,
    ),
    runs(
        "made_require",
        "import { createRequire } from 'node:module';\nconst load = createRequire(import.meta.url);",
        "load('../../lib/made.cjs')",
        "made.cjs",
        CJS,
    ),
    runs(
        "renamed_maker",
        "import { createRequire as cr } from 'node:module';\nconst load = cr(import.meta.url);",
        "load('../../lib/renamed.cjs')",
        "renamed.cjs",
        CJS,
    ),
    runs(
        "builtin_maker",
        "const { createRequire: c } = process.getBuiltinModule('module');",
        "c(import.meta.url)('../../lib/builtin.cjs')",
        "builtin.cjs",
        CJS,
    ),
    runs(
        "package",
        "import { value } from 'pack';",
        "value",
        "../node_modules/pack/in.js",
        ESM,
    ),
    runs(
        "package_required",
        "",
        "require('old')",
        "../node_modules/old/in.js",
        CJS,
    ),
    runs(
        "hash_import",
        "import { value } from '#inside';",
        "value",
        "hash.ts",
        ESM,
    ),
    runs(
        "tsconfig_path",
        "import { value } from '@lib/mapped';",
        "value",
        "mapped.ts",
        ESM,
    ),
    runs(
        "link",
        "import { value } from '../../lib/link.ts';",
        "value",
        "behind.ts",
        ESM,
    ),
    Shape {
        extension: "tsx",
        ..runs(
            "jsx_pragma",
            "/** @jsxImportSource ../../lib/pragma */",
            "String(<a/>)",
            "pragma/jsx-runtime.ts",
            "export const jsx = () => 'one'; export const jsxs = jsx; export const Fragment = 0;",
        )
    },
    runs(
        "wasm_url",
        "import { readFileSync } from 'node:fs';",
        "(await WebAssembly.instantiate(readFileSync(new URL('../../lib/x.wasm', import.meta.url))))\
         .instance.exports.f() === 1 ? 'one' : 'EVIL'",
        "x.wasm",
        "",
    ),
    runs(
        "wasm_stream",
        "",
        "(await WebAssembly.instantiateStreaming(fetch(new URL('../../lib/y.wasm', import.meta.url))))\
         .instance.exports.f() === 1 ? 'one' : 'EVIL'",
        "y.wasm",
        "",
    ),
    refused(
        "computed_wasm",
        "import { readFileSync } from 'node:fs';",
        "new (WebAssembly['Mod' + 'ule'])(readFileSync(new URL('../../lib/' + 'z.wasm', import.meta.url))) && 'EVIL'",
        "z.wasm",
        "",
    ),
    refused(
        "computed_import",
        "",
        "(await import('../../lib/' + 'ci' + '.ts')).value",
        "ci.ts",
        ESM,
    ),
    refused(
        "computed_text",
        "",
        "(await import('../../lib/' + 'ct.txt')).default",
        "ct.txt",
        "one",
    ),
    refused(
        "computed_json",
        "",
        "(await import('../../lib/' + 'cj.json', { with: { type: 'json' } })).default.it",
        "cj.json",
        "{\"it\": \"one\"}",
    ),
    refused(
        "computed_raw",
        "",
        "(await import('../../lib/' + 'cr.ts', { with: { type: 'text' } })).default",
        "cr.ts",
        "one",
    ),
    refused(
        "computed_require",
        "",
        "require('../../lib/' + 'cq.cjs')",
        "cq.cjs",
        CJS,
    ),
    refused(
        "require_call",
        "",
        "require.call(null, '../../lib/called.cjs')",
        "called.cjs",
        CJS,
    ),
    refused(
        "require_apply",
        "",
        "require.apply(null, ['../../lib/applied.cjs'])",
        "applied.cjs",
        CJS,
    ),
    refused(
        "require_bind",
        "",
        "require.bind(null)('../../lib/bound.cjs')",
        "bound.cjs",
        CJS,
    ),
    refused(
        "module_load",
        "import Module from 'node:module';\nimport { fileURLToPath } from 'node:url';",
        "Module._load(fileURLToPath(new URL('../../lib/' + 'loaded.cjs', import.meta.url)))",
        "loaded.cjs",
        CJS,
    ),
    refused(
        "own_extension",
        "",
        "(require.extensions['.mine'] = (m, f) => m._compile(process.getBuiltinModule('fs')\
         .readFileSync(f, 'utf8'), f), require('../../lib/' + 'own.mine'))",
        "own.mine",
        CJS,
    ),
    refused(
        "compile",
        READ,
        "(() => { const Module = process.getBuiltinModule('module'); const it = new Module('x');\
         it._compile(text('compiled.js'), '/x.js'); return it.exports; })()",
        "compiled.js",
        CJS,
    ),
    refused(
        "plain_eval",
        READ,
        "eval(text('e1.js'))",
        "e1.js",
        EXPRESSION,
    ),
    refused(
        "indirect_eval",
        READ,
        "(0, eval)(text('e2.js'))",
        "e2.js",
        EXPRESSION,
    ),
    refused(
        "member_eval",
        READ,
        "globalThis.eval(text('e3.js'))",
        "e3.js",
        EXPRESSION,
    ),
    refused(
        "hidden_eval",
        READ,
        "globalThis['ev' + 'al'](text('e4.js'))",
        "e4.js",
        EXPRESSION,
    ),
    refused(
        "wrapped_eval",
        READ,
        "eval('(() => { return ' + text('e5.js') + '})()')",
        "e5.js",
        EXPRESSION,
    ),
    refused(
        "new_function",
        READ,
        "new Function('return ' + text('e6.js'))()",
        "e6.js",
        EXPRESSION,
    ),
    refused(
        "member_function",
        READ,
        "globalThis.Function('return ' + text('e7.js'))()",
        "e7.js",
        EXPRESSION,
    ),
    refused(
        "reflect",
        READ,
        "Reflect.construct(Function, ['return ' + text('e8.js')])()",
        "e8.js",
        EXPRESSION,
    ),
    refused(
        "constructor",
        READ,
        "(() => {}).constructor('return ' + text('e9.js'))()",
        "e9.js",
        EXPRESSION,
    ),
    refused(
        "read_later",
        READ,
        "eval(await (await import('node:fs/promises')).readFile(new URL('../../lib/' + 'p.js', import.meta.url), 'utf8'))",
        "p.js",
        EXPRESSION,
    ),
    refused(
        "inspector",
        READ,
        "(() => { const session = new (process.getBuiltinModule('inspector').Session)(); session.connect();\
         let said; session.post('Runtime.evaluate', { expression: text('i.js') }, (_, it) => { said = it.result.value; });\
         return said; })()",
        "i.js",
        EXPRESSION,
    ),
    refused(
        "vm_this",
        READ,
        "process.getBuiltinModule('vm').runInThisContext(text('v1.js'))",
        "v1.js",
        EXPRESSION,
    ),
    refused(
        "vm_new",
        READ,
        "process.getBuiltinModule('vm').runInNewContext(text('v2.js'))",
        "v2.js",
        EXPRESSION,
    ),
    refused(
        "data_url",
        READ,
        "(await import('data:text/javascript,' + encodeURIComponent(text('d.js')))).value",
        "d.js",
        ESM,
    ),
    refused(
        "deno",
        READ,
        "D\\u0065no[D\\u0065no.internal].core.evalContext(text('c.js'), 'file:///c.js')[0]",
        "c.js",
        EXPRESSION,
    ),
];

/// A module that exports `f`, which returns `value`.
fn wasm(value: u8) -> Vec<u8> {
    let mut bytes = b"\0asm\x01\0\0\0\x01\x05\x01\x60\0\x01\x7f\x03\x02\x01\0\x07\x05\x01\x01f\0\0\x0a\x06\x01\x04\0\x41".to_vec();
    bytes.extend([value, 0x0b]);
    bytes
}

fn project(shapes: &[Shape]) -> Sandbox {
    let sandbox = Sandbox::with_home();
    for shape in shapes {
        let Shape {
            name, head, body, ..
        } = shape;
        let tool = format!(
            "{head}\nexport default () => ({{ name: '{name}', description: 'd', parameters: {{ type: 'object' }},\n\
             async execute() {{ const said = {body}; return {{ content: [{{ type: 'text', text: String(said) }}] }}; }} }});\n"
        );
        sandbox.write(&format!(".omp/tools/{name}.{}", shape.extension), &tool);
        let path = sandbox.write(&format!("lib/{}", shape.file), &shape.content());
        if shape.file.ends_with(".wasm") {
            // Bytes that are trusted in one file may also run from another.
            let value = if shape.trusted == Trusted::Runs { 1 } else { 2 };
            fs::write(path, wasm(value)).expect("a directory of ours");
        }
    }
    sandbox.write("lib/outer.ts", "export * from './inner.ts';\n");
    sandbox.write(
        "lib/nest.txt",
        "module.exports = require('./nested.cjs');\n",
    );
    sandbox.write("lib/folder/package.json", "{\"main\": \"main.js\"}");
    sandbox.write(
        "node_modules/pack/package.json",
        "{\"name\": \"pack\", \"type\": \"module\", \"exports\": \"./in.js\"}",
    );
    sandbox.write(
        "node_modules/old/package.json",
        "{\"name\": \"old\", \"main\": \"in.js\"}",
    );
    sandbox.write(
        "package.json",
        "{\"imports\": {\"#inside\": \"./lib/hash.ts\"}}",
    );
    sandbox.write(
        "tsconfig.json",
        "{\"compilerOptions\": {\"paths\": {\"@lib/*\": [\"./lib/*\"]}}}",
    );
    let link = sandbox.path().join("lib/link.ts");
    std::os::unix::fs::symlink("behind.ts", link).expect("a directory of ours");
    let ran = sandbox.sh("haft trust --yes");
    assert_eq!(ran.code, 0, "{}", ran.output);
    sandbox
}

fn change(sandbox: &Sandbox, shapes: &[Shape]) {
    for shape in shapes {
        let path = format!("lib/{}", shape.file);
        if shape.file.ends_with(".wasm") {
            fs::write(sandbox.path().join(path), wasm(66)).expect("ours")
        } else {
            drop(sandbox.write(&path, &shape.content().replace("one", "EVIL")))
        }
    }
}

fn host(sandbox: &Sandbox) -> Host {
    sandbox.host(|config: &mut Config| config.limits.grace = Duration::from_millis(200))
}

/// Calls the tool; returns its answer or its error.
async fn said(host: &Host, tool: &str) -> String {
    let call = Call {
        id: "c".into(),
        tool: tool.into(),
        arguments: RawValue::from_string("{}".into()).expect("it is JSON"),
    };
    match host.call(call, None).outcome().await {
        Ok(outcome) => outcome.text(),
        Err(error) => error.to_string(),
    }
}

const NOT_TRUSTED: &[&str] = &[
    "is not part of what was trusted",
    "changed since it was trusted",
    "changed since you trusted it",
    "the trust page did not say",
];

fn is_refusal(said: &str) -> bool {
    NOT_TRUSTED.iter().any(|words| said.contains(words))
}

#[tokio::test]
async fn no_shape_runs_what_changed() {
    let sandbox = project(SHAPES);
    let before = host(&sandbox);
    before.catalog().await;
    let mut wrong = Vec::new();
    for shape in SHAPES {
        let said = said(&before, shape.name).await;
        let is_right = match shape.trusted {
            Trusted::Runs => said == "one",
            // Any access to Deno's own functions may fail in its own way, but nothing may run.
            Trusted::IsRefused => {
                is_refusal(&said) || (shape.name == "deno" && !said.contains("one"))
            }
        };
        if !is_right {
            wrong.push(format!(
                "{} is to be {:?}: {said}",
                shape.name, shape.trusted
            ));
        }
    }
    // Scanned before the change, loaded after it.
    let between = host(&sandbox);
    between.catalog().await;
    change(&sandbox, SHAPES);
    let after = host(&sandbox);
    for (when, host) in [
        ("loaded", &before),
        ("looked at", &between),
        ("started after", &after),
    ] {
        for shape in SHAPES {
            let said = said(host, shape.name).await;
            if said.contains("EVIL")
                || !(said == "one" || is_refusal(&said) || shape.name == "deno")
            {
                wrong.push(format!(
                    "{} of a host that {when} the change: {said}",
                    shape.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_module_that_is_loaded_again_is_checked_again() {
    let shapes = &SHAPES[..1];
    let sandbox = project(shapes);
    sandbox.write(
        ".omp/tools/spin.ts",
        "export default () => ({ name: 'spin', description: 'd', parameters: { type: 'object' },\n\
         execute() { for (;;); } });\n",
    );
    assert_eq!(sandbox.sh("haft trust --yes").code, 0);
    let host = host(&sandbox);
    assert_eq!(said(&host, "static_import").await, "one");
    change(&sandbox, shapes);
    let call = Call {
        id: "c".into(),
        tool: "spin".into(),
        arguments: RawValue::from_string("{}".into()).expect("it is JSON"),
    };
    let mut running = host.call(call, None);
    assert!(matches!(running.next_event().await, Event::Started));
    running.cancellation().kill();
    let killed = running.outcome().await.expect("its isolate is lost");
    assert!(killed.is_error, "it never ends by itself: {killed:?}");
    let again = said(&host, "static_import").await;
    assert!(again.contains("changed since it was trusted"), "{again}");
}

#[tokio::test]
async fn a_cached_description_does_not_let_a_changed_module_load() {
    let shapes = &SHAPES[..1];
    let sandbox = project(shapes);
    host(&sandbox).catalog().await;
    let remembered = host(&sandbox);
    remembered.catalog().await;
    change(&sandbox, shapes);
    // A stale lock of git only delays a watcher.
    sandbox.write(".git/index.lock", "");
    let said = said(&remembered, "static_import").await;
    assert!(said.contains("changed since it was trusted"), "{said}");
}

#[test]
fn what_is_found_only_while_running_can_be_learned() {
    let shapes: Vec<_> = SHAPES
        .iter()
        .filter(|shape| ["computed_import", "plain_eval", "require_call"].contains(&shape.name))
        .map(|shape| Shape { ..*shape })
        .collect();
    let sandbox = project(&shapes);
    for shape in &shapes {
        let (name, file) = (shape.name, shape.file);
        let refused = sandbox.sh(&format!("haft call {name}"));
        assert!(
            refused.output.contains("--learn"),
            "{name}: {}",
            refused.output
        );
        let learned = sandbox.sh(&format!("haft call --learn --yes {name}"));
        assert!(
            learned.output.contains("trusted: 1 file more"),
            "{name}: {}",
            learned.output
        );
        assert!(learned.output.contains(file), "{name}: {}", learned.output);
        assert_eq!(
            sandbox.sh(&format!("haft call {name}")).output,
            "one\n",
            "{name}"
        );
    }
    change(&sandbox, &shapes);
    for shape in &shapes {
        let refused = sandbox.sh(&format!("haft call {}", shape.name));
        let words = "changed since it was trusted";
        assert!(
            refused.output.contains(words),
            "{}: {}",
            shape.name,
            refused.output
        );
    }
    // Trusted again with the present content, including the learned files.
    assert_eq!(sandbox.sh("haft trust --yes").code, 0);
    assert_eq!(sandbox.sh("haft call computed_import").output, "EVIL\n");
}

#[test]
fn code_from_data_is_a_right_of_its_own() {
    let sandbox = Sandbox::with_home();
    let tool = |body: &str| {
        format!(
            "export default () => ({{ name: 't', description: 'd', parameters: {{ type: 'object' }},\n\
             execute: () => ({{ content: [{{ type: 'text', text: String({body}) }}] }}) }});\n"
        )
    };
    sandbox.write(".omp/tools/t.ts", &tool("globalThis['ev' + 'al']('6 * 7')"));
    assert_eq!(sandbox.sh("haft trust --yes").code, 0);
    let refused = sandbox.sh("haft call t");
    assert!(
        refused.output.contains("haft trust --allow-eval"),
        "{}",
        refused.output
    );
    let page = sandbox.sh("haft trust --allow-eval --yes").output;
    assert!(
        page.contains("open: all modules may run text and bytes as code"),
        "{page}"
    );
    assert_eq!(sandbox.sh("haft call t").output, "42\n");
    // A right that the trust page shows for a tool is granted with it.
    sandbox.write(".omp/tools/t.ts", &tool("new Function('return 6 * 7')()"));
    assert_eq!(sandbox.sh("haft trust --revoke").code, 0);
    let page = sandbox.sh("haft trust --yes").output;
    assert!(
        page.contains("open: .omp/tools/t.ts:2 runs text as code"),
        "{page}"
    );
    assert_eq!(sandbox.sh("haft call t").output, "42\n");
}

/// Ways to pass the text of `FILE` to `eval` that no check of the text itself can find.
const DISGUISED: &[(&str, &str)] = &[
    (
        "replaced",
        "eval(fs.readFileSync(FILE, 'utf8').replace(';', '/**/;'))",
    ),
    (
        "decoded",
        "eval(atob(fs.readFileSync(FILE, 'base64')).slice(1))",
    ),
    (
        "promised",
        "eval(';' + (await fs.promises.readFile(FILE, 'latin1')).slice(2))",
    ),
    (
        "streamed",
        "await (async () => { let text = ''; for await (const part of fs.createReadStream(FILE)) text += part;\
         return eval(text.slice(1)); })()",
    ),
    (
        "descriptor",
        "(() => { const bytes = Buffer.alloc(99), fd = fs.openSync(FILE);\
         return eval(bytes.toString('utf8', 1, fs.readSync(fd, bytes))); })()",
    ),
    (
        "opened",
        "await (async () => { const file = await fs.promises.open(FILE);\
         const text = await file.readFile('utf8'); await file.close(); return eval(text.slice(1)); })()",
    ),
    (
        "fetched",
        "eval((await (await fetch(new URL('file://' + FILE))).text()).slice(1))",
    ),
    ("bun", "eval((await Bun.file(FILE).text()).slice(1))"),
    (
        "copied",
        "(fs.copyFileSync(FILE, COPY), true) &&\
         eval(fs.readFileSync(COPY, 'utf8').slice(1))",
    ),
    (
        "vm",
        "(await import('node:vm')).runInNewContext(fs.readFileSync(FILE, 'utf8').slice(1))",
    ),
];

#[test]
fn text_is_no_code_once_a_file_that_may_change_was_read() {
    let sandbox = Sandbox::with_home();
    for (name, body) in DISGUISED {
        let code = format!(
            "import fs from 'node:fs';\nconst FILE = process.cwd() + '/rules.txt', COPY = process.env.HOME + '/copy';\n\
             export default () => ({{ name: '{name}', description: 'd', parameters: {{ type: 'object' }},\n\
             async execute() {{ return {{ content: [{{ type: 'text', text: String({body}) }}] }}; }} }});\n"
        );
        sandbox.write(&format!("p/.omp/tools/{name}.ts"), &code);
    }
    sandbox.write("p/rules.txt", ";;'one'");
    let page = sandbox.sh("cd p && haft trust --yes");
    assert!(page.output.contains("runs text as code"), "{}", page.output);
    let refusal = "rules.txt` is not part of what was trusted";
    for (name, _) in DISGUISED {
        let refused = sandbox.sh(&format!("cd p && haft call {name}"));
        assert_eq!(refused.code, 1, "{name}: {}", refused.output);
        assert!(
            refused.output.contains(refusal),
            "{name}: {}",
            refused.output
        );
        assert!(
            refused.output.contains("haft trust --allow-eval"),
            "{name}: {}",
            refused.output
        );
    }
    // A learned file is code like any other.
    let learned = sandbox.sh("cd p && haft call --learn --yes streamed");
    assert!(
        learned.output.contains("trusted: 1 file more"),
        "{}",
        learned.output
    );
    for (name, _) in DISGUISED {
        assert_eq!(
            sandbox.sh(&format!("cd p && haft call {name}")).output,
            "one\n",
            "{name}"
        );
    }
    sandbox.write("p/rules.txt", ";;'two'");
    for (name, _) in DISGUISED {
        let refused = sandbox.sh(&format!("cd p && haft call {name}"));
        let words = "rules.txt` changed since it was trusted";
        assert!(refused.output.contains(words), "{name}: {}", refused.output);
    }
    assert_eq!(sandbox.sh("cd p && haft trust --allow-eval --yes").code, 0);
    assert_eq!(sandbox.sh("cd p && haft call streamed").output, "two\n");
}

/// A changed manifest, or a new one that is nearer, is not used.
#[tokio::test]
async fn manifests_are_verified_too() {
    let sandbox = Sandbox::with_home();
    sandbox.write(
        ".omp/tools/t.ts",
        "export default () => ({ name: 't', description: 'd', parameters: { type: 'object' },\n\
         async execute() { const { value } = await import('pack'); return { content: [{ type: 'text', text: value }] }; } });\n",
    );
    let manifest = |file: &str| {
        format!("{{\"name\": \"pack\", \"type\": \"module\", \"exports\": \"./{file}\"}}")
    };
    let place = "node_modules/pack/package.json";
    sandbox.write(place, &manifest("in.js"));
    sandbox.write("node_modules/pack/in.js", ESM);
    sandbox.write(
        ".omp/tools/u.ts",
        "import { value } from '../../node_modules/pack/other.js';\n\
         export default () => ({ name: 'u', description: value, parameters: { type: 'object' }, execute() {} });\n",
    );
    sandbox.write(
        "node_modules/pack/other.js",
        "export const value = 'EVIL';\n",
    );
    assert_eq!(sandbox.sh("haft trust --yes").code, 0);
    let host = host(&sandbox);
    host.catalog().await;
    sandbox.write(place, &manifest("other.js"));
    let changed = said(&host, "t").await;
    assert!(is_refusal(&changed), "{changed}");
    sandbox.write(place, &manifest("in.js"));
    sandbox.write(".omp/node_modules/pack/package.json", &manifest("in.js"));
    sandbox.write(
        ".omp/node_modules/pack/in.js",
        "export const value = 'EVIL';\n",
    );
    let nearer = self::host(&sandbox);
    let said = said(&nearer, "t").await;
    assert!(!said.contains("EVIL"), "{said}");
}

/// The grant refuses nothing that the examples load: their answers are the same as without a grant.
#[test]
fn the_examples_load_under_the_grant() {
    let sandbox = Sandbox::with_home();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/example-tools/js");
    let copied = sandbox.sh(&format!(
        "mkdir -p .omp/tools && cp -r {examples}/* .omp/tools/"
    ));
    assert_eq!(copied.code, 0, "{}", copied.output);
    let trusted = sandbox.sh("haft trust --yes");
    assert_eq!(trusted.code, 0, "{}", trusted.output);
    let verified = sandbox.sh("haft --no-cache list --json");
    let unverified = sandbox.sh("haft --no-cache --trust-project list --json");
    assert!(!is_refusal(&verified.output), "{}", verified.output);
    assert_eq!(verified.output, unverified.output);
    assert!(
        verified.output.matches("\"name\"").count() > 20,
        "{}",
        verified.output
    );
}
