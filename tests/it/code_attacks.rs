//! Attacks of scripts on what contains them: each one ends with an error or without effect, and the
//! next script runs as if nothing had been.

use std::time::Duration;

use haft::code::{self, CodeRun};
use haft::{CustomTool, Invocation, Tier, ToolOutput};
use serde_json::{Value, json};

use crate::code::{builder, run};
use crate::sandbox::Sandbox;

/// Scripts that look for a way out. Each must give this text.
const ESCAPES: &[(&str, &str)] = &[
    // Code from text.
    (
        "try { return [].constructor.constructor('return 1')() } catch (e) { return e.name }",
        "EvalError",
    ),
    (
        "try { return eval('1 + 1') } catch (e) { return e.name }",
        "EvalError",
    ),
    (
        "try { return (async () => {}).constructor('return 1')() } catch (e) { return e.name }",
        "EvalError",
    ),
    (
        "try { return (function* () {}).constructor('yield 1')() } catch (e) { return e.name }",
        "EvalError",
    ),
    (
        "try { return tools.echo.constructor('return globalThis')() } catch (e) { return e.name }",
        "EvalError",
    ),
    (
        "try { return setTimeout('globalThis.x = 1', 0) } catch (e) { return e.message }",
        "setTimeout wants a function",
    ),
    // What is not there.
    (
        "[typeof Deno, typeof process, typeof require, typeof fetch, typeof module].join()",
        "undefined,undefined,undefined,undefined,undefined",
    ),
    (
        "[typeof WebAssembly, typeof SharedArrayBuffer, typeof Atomics, typeof Worker].join()",
        "undefined,undefined,undefined,undefined",
    ),
    (
        "[typeof XMLHttpRequest, typeof WebSocket, typeof navigator, typeof location].join()",
        "undefined,undefined,undefined,undefined",
    ),
    (
        "typeof globalThis.__haft + typeof globalThis.__bootstrap + typeof globalThis.native",
        "undefinedundefinedundefined",
    ),
    (
        "Object.getOwnPropertyNames(globalThis).filter((name) => /deno|node|haft|op_/i.test(name)).length",
        "0",
    ),
    ("Reflect.ownKeys(tools.echo).join()", "length,name,raw"),
    // Constructors and prototypes.
    ("String(Object.getPrototypeOf(tools))", "null"),
    (
        "try { return Object.setPrototypeOf(tools, { evil: 1 }) } catch (e) { return e.name }",
        "TypeError",
    ),
    (
        "try { return tools.echo = () => 'mine' } catch (e) { return e.name }",
        "TypeError",
    ),
    (
        "try { return delete tools.echo } catch (e) { return e.name }",
        "TypeError",
    ),
    (
        "try { return Object.defineProperty(tools, 'echo', { value: 1 }) } catch (e) { return e.name }",
        "TypeError",
    ),
    (
        "try { return tools.echo.raw = 1 } catch (e) { return e.name }",
        "TypeError",
    ),
    (
        "String(tools.constructor) + String(tools.then) + String(tools.toJSON)",
        "undefinedundefinedundefined",
    ),
    (
        "try { return await tools.__proto__() } catch (e) { return e.message.slice(0, 30) }",
        "there is no tool `__proto__`; ",
    ),
    ("({}).__proto__.n = 'polluted'; await tools.echo()", "{}"),
    (
        "Object.prototype.get = () => 'trap'; Object.prototype.apply = () => 1; await tools.echo()",
        "{}",
    ),
    (
        "Array.prototype[Symbol.iterator] = null; Array.prototype.includes = () => true; await tools.echo()",
        "{}",
    ),
    (
        "JSON.parse = () => 'mine'; JSON.stringify = () => 'mine'; await tools.echo({ n: 1 })",
        "{\"n\":1}",
    ),
    (
        "globalThis.Promise = class { then() {} }; await tools.echo()",
        "{}",
    ),
    (
        "Promise.prototype.then = () => 'mine'; await tools.echo()",
        "{}",
    ),
    (
        "Map.prototype.get = Map.prototype.set = null; String.prototype.split = null; await tools.echo()",
        "{}",
    ),
    // Errors and stacks.
    (
        "try { return await tools.fails() } catch (e) { return String(e.constructor.constructor === Function) }",
        "true",
    ),
    (
        "Error.prepareStackTrace = (_, sites) => sites.map((s) => String(s.getThis?.())).join(); \
      try { return await tools.fails() } catch (e) { return typeof e.stack }",
        "string",
    ),
    (
        "Error.prepareStackTrace = () => { throw 1 }; try { return null.x } catch (e) { return 'caught' }",
        "caught",
    ),
    (
        "Error.stackTraceLimit = 1e9; const deep = (n) => n ? deep(n - 1) : new Error('x').stack.includes('/'); \
      String(deep(50))",
        "false",
    ),
    (
        "Object.defineProperty(ToolError.prototype, 'content', { set() { throw 1 } }); \
      try { return await tools.fails() } catch (e) { return 'caught' }",
        "caught",
    ),
    (
        "Object.setPrototypeOf(ToolError, class { constructor() { throw 2 } }); \
      try { return await tools.fails() } catch (e) { return String(e) }",
        "2",
    ),
    // Getters and proxies as arguments.
    ("await tools.echo({ get n() { return 1 } })", "{\"n\":1}"),
    ("await tools.echo(new Proxy({ n: 2 }, {}))", "{\"n\":2}"),
    (
        "try { return await tools.echo({ toJSON() { throw new Error('from toJSON') } }) } catch (e) { return e.message }",
        "from toJSON",
    ),
    (
        "try { return await tools.echo({ toJSON: () => 'text' }) } catch (e) { return e.message.slice(0, 17) }",
        "Validation failed",
    ),
    (
        "try { return await tools.echo(1n) } catch (e) { return e.name }",
        "TypeError",
    ),
    (
        "try { return await tools.echo(Symbol('x')) } catch (e) { return e.name }",
        "RangeError",
    ),
    (
        "await tools.echo({ ['__proto__']: { n: 1 } })",
        "{\"__proto__\":{\"n\":1}}",
    ),
    (
        "try { return await tools[{ toString: () => 'echo' }]() } catch (e) { return 'no' }",
        "{}",
    ),
    (
        "try { return await tools['echo\\0']() } catch (e) { return e.name }",
        "ToolError",
    ),
    (
        "try { return await tools['x'.repeat(1e6)]() } catch (e) { return String(e.message.length < 500) }",
        "true",
    ),
    ("typeof tools[Symbol.iterator]", "undefined"),
    (
        "try { return await tools.run_code({ code: '1' }) } catch (e) { return e.message.slice(0, 27) }",
        "there is no tool `run_code`",
    ),
    (
        "try { return await tools.echo(new Proxy({}, { ownKeys() { throw new Error('trap') } })) } catch (e) { return e.message }",
        "trap",
    ),
    // Results cannot be changed for another reader.
    (
        "const a = await tools.typed({ n: 1 }); a.n = 9; (await tools.typed({ n: 1 })).n",
        "1",
    ),
    (
        "const p = tools.echo(); p.then = null; await 0; 'went on'",
        "went on",
    ),
    (
        "try { return image('no', {}) } catch (e) { return e.name }",
        "TypeError",
    ),
    (
        "try { image('<svg>', 'text/html'); return 'printed' } catch (e) { return e.name }",
        "TypeError",
    ),
    // A name for a tool that says another.
    (
        "console.log({ toJSON: () => ({ a: 1 }) }); console.log(Object.create(null)); undefined",
        "{\"a\":1}\n{}",
    ),
    (
        "console.log(new Proxy(() => {}, {})); undefined",
        "[function ]",
    ),
    (
        "const c = {}; c.c = c; console.log(c); undefined",
        "[object that is not JSON: Converting circular structure to JSON\n    --> starting at object with constructor 'Object'\n    --- property 'c' closes the circle]",
    ),
    (
        "try { return new ArrayBuffer(1e9) } catch (e) { return e.name }",
        "RangeError",
    ),
    (
        "try { return 'x'.repeat(2 ** 30) } catch (e) { return e.name }",
        "RangeError",
    ),
    (
        "try { return (function f() { f() })() } catch (e) { return e.name }",
        "RangeError",
    ),
    (
        "try { clearTimeout({}); clearTimeout(-1); clearTimeout(1e99); return 'nothing' } catch (e) { return e.name }",
        "nothing",
    ),
];

/// Scripts that exhaust something. Each is ended, and its error begins so.
const EXHAUSTING: &[(&str, &str)] = &[
    ("while (true) {}", "the script took longer than"),
    ("for (;;) await 0", "the script took longer than"),
    (
        "(function f() { Promise.resolve().then(f) })(); await new Promise(() => {})",
        "the script took longer than",
    ),
    (
        "const f = () => setTimeout(f, 0); f()",
        "the script took longer than",
    ),
    (
        "/^(a+)+$/.test('a'.repeat(40) + 'b')",
        "the script took longer than",
    ),
    (
        "({ toString() { while (true) {} } }) + ''",
        "the script took longer than",
    ),
    (
        "throw { get message() { while (true) {} }, toString() { while (true) {} }, toJSON() { while (true) {} } }",
        "the script took longer than",
    ),
    (
        "return { toJSON() { while (true) {} } }",
        "the script took longer than",
    ),
    (
        "return { get then() { while (true) {} } }",
        "the script took longer than",
    ),
    (
        "class E extends Error { get name() { while (true) {} } } throw new E()",
        "the script took longer than",
    ),
    (
        "ToolError.prototype.toString = () => { while (true) {} }; Error.prepareStackTrace = () => { while (true) {} }; \
      try { await tools.fails() } catch (e) { String(e) }",
        "the script took longer than",
    ),
    (
        "for (;;) try { while (true) {} } catch {} finally { while (true) {} }",
        "the script took longer than",
    ),
    (
        "const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)",
        "the script ran out of memory",
    ),
    (
        "const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))",
        "",
    ),
    (
        "let s = 'x'; for (;;) s = [s, s].map(String).join('') .slice(0, 1e8)",
        "the script",
    ),
    (
        "const a = []; for (;;) a.push({ a: { b: { c: a.length } } })",
        "the script ran out of memory",
    ),
    (
        "const m = new Map(); for (let n = 0; ; n++) m.set(n, [n])",
        "the script ran out of memory",
    ),
    (
        "const a = []; for (;;) a.push(Promise.reject(new Error('x'.repeat(1e4) + a.length)))",
        "the script",
    ),
    (
        "for (;;) setTimeout(() => {}, 1e6)",
        "RangeError: a script may have 10000 open timers",
    ),
    (
        "await Promise.all(Array.from({ length: 10000 }, () => tools.waits()))",
        "RangeError: a run may make 256 calls",
    ),
    (
        "for (;;) tools.echo({ text: 'x'.repeat(1e6) }).catch(() => {})",
        "the script",
    ),
    (
        "for (;;) console.log('x'.repeat(1e5))",
        "the script printed more than 16 MiB",
    ),
    (
        "for (;;) image('x'.repeat(1e6), 'image/png')",
        "the script printed more than 16 MiB",
    ),
    (
        "x: for (;;) { const o = {}; Object.defineProperty(globalThis, Math.random() + '', { value: o }) }",
        "the script",
    ),
    (
        "await new Promise(() => {})",
        "the script waits for a promise that nothing settles",
    ),
];

#[tokio::test]
async fn no_way_leads_out() {
    let sandbox = Sandbox::with_home();
    let host = builder(&sandbox).build().expect("a host");
    assert!(ESCAPES.len() + EXHAUSTING.len() >= 40);
    for (script, text) in ESCAPES {
        let outcome = run(&host, script).await;
        assert_eq!(outcome.text(), *text, "{script}");
        // Nothing of it is left.
        let next = run(
            &host,
            "[({}).n, typeof JSON.parse('1'), await tools.echo()].join()",
        )
        .await;
        assert_eq!(next.text(), ",number,{}", "after {script}");
    }
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_takes_all_is_ended() {
    let sandbox = Sandbox::with_home();
    let host = builder(&sandbox).build().expect("a host");
    for (script, begin) in EXHAUSTING {
        // What ends by another limit gets more time, for a machine under load.
        let time = match *begin {
            "the script took longer than" => 500,
            "the script" => 3_000,
            _ => 60_000,
        };
        let limited = CodeRun::new(*script).timeout_ms(time);
        let running = code::run(&host, limited).outcome();
        let outcome = tokio::time::timeout(Duration::from_secs(120), running).await;
        let outcome = outcome.unwrap_or_else(|_| panic!("it goes on: {script}"));
        let outcome = outcome.expect("it was run");
        assert!(outcome.is_error, "{script}");
        let text = outcome.text();
        assert!(text.contains(begin), "{script}:\n{text:.300}");
        assert_eq!(run(&host, "1").await.text(), "1", "after {script}");
    }
    host.shutdown().await;
}

#[tokio::test]
async fn scripts_do_not_see_each_other() {
    let sandbox = Sandbox::with_home();
    let host = builder(&sandbox).build().expect("a host");
    let spoil = "globalThis.left = 1; Object.prototype.left = 1; tools.echo.call; undefined";
    let look = "await tools.echo(); String(globalThis.left) + String(({}).left)";
    let (_, seen) = tokio::join!(run(&host, spoil), run(&host, look));
    assert_eq!(seen.text(), "undefinedundefined");
    assert_eq!(run(&host, look).await.text(), "undefinedundefined");
    host.shutdown().await;
}

#[tokio::test]
async fn hostile_names_and_results_of_tools_are_data() {
    let sandbox = Sandbox::with_home();
    let names = [
        "__proto__",
        "constructor",
        "then",
        "delete",
        "await",
        "class",
        "toString",
        "valueOf",
        "hasOwnProperty",
        "$search",
        "raw",
        "1st",
        "a b",
        "a-b",
        "a_b",
        "a.b",
        "ü",
        "\"quoted\"",
        "*/",
    ];
    let mut builder = builder(&sandbox);
    for name in names {
        let tool = CustomTool::new(
            name,
            "*/ } hostile \u{202e}",
            move |_: Value, _: Invocation| async move { Ok::<_, String>(format!("I am {name}")) },
        );
        builder = builder.tool(
            tool.parameters(json!({"type": "object"}))
                .approval(Tier::Read),
        );
    }
    let results = [
        (
            "r_proto",
            json!({"__proto__": {"polluted": 1}, "constructor": 1, "then": 2, "toJSON": 3}),
        ),
        ("r_deep", (0..400).fold(json!(1), |inner, _| json!([inner]))),
        ("r_text", json!("\u{2028}\u{0}\"'`${1}</script>")),
    ];
    for (name, value) in results {
        let tool = CustomTool::new(name, "", move |_: Value, _: Invocation| {
            let output = ToolOutput::from(value.clone());
            async move { Ok::<_, String>(output) }
        });
        let tool = tool
            .parameters(json!({"type": "object"}))
            .output_schema(json!({}));
        builder = builder.tool(tool.approval(Tier::Read));
    }
    let host = builder.build().expect("a host");
    for name in names {
        let script = format!("await tools[{}]()", json!(name));
        // `$search` is the search, not a tool of that name.
        if name != "$search" {
            let expected = format!("I am {name}");
            assert_eq!(run(&host, &script).await.text(), expected, "{name}");
        }
    }
    for (script, text) in [
        ("await tools.delete()", "I am delete"),
        ("await tools._1st()", "I am 1st"),
        // The tool of that very name goes first.
        ("await tools.a_b()", "I am a_b"),
        // A tool named `then` does not make `tools` a promise.
        (
            "const r = await tools.r_proto(); JSON.stringify([({}).polluted ?? null, r.then, Object.keys(r).length])",
            "[null,2,4]",
        ),
        (
            "let d = await tools.r_deep(); let n = 0; while (Array.isArray(d)) { d = d[0]; n++ } n",
            "400",
        ),
        ("(await tools.r_text()).length", "18"),
        ("(await tools.$types('*/')).includes('*\\\\/')", "true"),
    ] {
        assert_eq!(run(&host, script).await.text(), text, "{script}");
    }
    host.shutdown().await;
}
