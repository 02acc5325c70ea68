//! YAML shell tools: substitution in their texts, transforms, escaping. Numbers are those of spec
//! cycod.

use haft::ErrorKind;
use serde_json::{Value, json};

use crate::shell_project::{GUARDED_X, PLAIN_X, Project, failure, filled, output};

// ---- substitution (cycod 50–67) ----

#[tokio::test]
async fn references_are_filled_once_and_unknown_braces_stay() {
    let x = format!("{GUARDED_X}\nY: {{description: d, default: y}}");
    // 55: text from a value is not substituted again.
    let hostile = json!({"X": "{Y} $& $1"});
    assert_eq!(filled("printf %s {X}", &x, hostile).await, "{Y} $& $1");
    // 56, c4
    let braces = "echo a b | awk '{print $2}'; V=v; echo ${V} {a,b} {1..3} {} '{{Y}}' \
                  '{\"k\": 1}' '{unknown}' '{Y'";
    let expected = "b\nv a b 1 2 3 {} {y} {\"k\": 1} {unknown} {Y\n";
    assert_eq!(filled(braces, &x, json!({})).await, expected);
    // `${X}` is the shell's variable even if X is a parameter.
    assert_eq!(
        filled("Y=shell; echo ${Y} {Y}", &x, json!({})).await,
        "shell y\n"
    );
    // 58: names are case-sensitive. 38: an optional parameter without a value is empty.
    assert_eq!(
        filled("echo {y} {Y} [{X}]", &x, json!({})).await,
        "{y} y []\n"
    );
}

#[tokio::test]
async fn values_are_written_by_their_type() {
    // 59
    let all = "N: {type: number, description: d}\nB: {type: boolean, description: d}\n\
               L: {type: array, description: d}\n\
               O: {type: object, description: d, security: {escape-shell: true}}";
    let arguments = json!({"N": 5.0, "B": true, "L": ["a", 1, "b c"], "O": {"k": [1, "x"]}});
    let text = filled("echo {N} {B} {L} {O}", all, arguments).await;
    assert_eq!(text, "5 true a 1 b c {\"k\":[1,\"x\"]}\n");
    let yaml = "bash: echo {N}\nparameters: {N: {type: number, description: d}}";
    let project = Project::new(&[("t", yaml)]);
    let call = project.call_with("t", "{\"N\": 123456789012345678901234567890}".to_owned());
    let exact = call.outcome().await.expect("it runs");
    assert_eq!(exact.text(), "123456789012345678901234567890\n");
    // Each item is quoted by itself.
    let list = "L: {type: array, description: d, security: {escape-shell: true}}";
    let text = filled("printf '[%s]' {L}", list, json!({"L": ["a b", "$c", ""]})).await;
    assert_eq!(text, "[a b][$c][]");
}

#[tokio::test]
async fn transforms_and_pictures() {
    let transformed = async |inline: &str, value: &str| {
        let command = format!("printf %s {{X:{inline}}}");
        filled(&command, GUARDED_X, json!({"X": value})).await
    };
    // 61, c28; 53: chained from left to right; 62: JavaScript, with marks of ours in its strings.
    for (inline, value, expected) in [
        ("lowercase", "AbC", "abc"),
        ("uppercase", "straße", "STRASSE"),
        ("trim", " \u{feff}a \n", "a"),
        ("base64encode", "Hello", "SGVsbG8="),
        ("base64decode", "SGVsbG8", "Hello"),
        ("urlencode", "a b&c😀", "a%20b%26c%F0%9F%98%80"),
        ("urldecode", "a%20b+c", "a b+c"),
        ("jsonescaped", "a\"b\n", "a\\\"b\\n"),
        ("shellescaped", "it's", "'it'\\''s'"),
        ("trim:lowercase", " A ", "a"),
        ("value + '}' + (value ? ':' : \"x\"):uppercase", "a", "A}:"),
        ("value.replace(/[}:]/g, '-')", "a}b:c", "a-b-c"),
    ] {
        assert_eq!(transformed(inline, value).await, expected, "{inline}");
    }
    let count = "COUNT: {type: number, description: d}";
    let picture = "echo {COUNT:format(0000)} {COUNT:format(#,##0.00)} {COUNT:format(0.#)}";
    assert_eq!(
        filled(picture, count, json!({"COUNT": 5})).await,
        "0005 5.00 5\n"
    );
    let text = filled(picture, count, json!({"COUNT": -1234567.055})).await;
    assert_eq!(text, "-1234567 -1,234,567.06 -1234567.1\n");
    let slug = "X: {description: d, transform: \"value.toUpperCase().replace(/\\\\s+/g, '-')\"}";
    assert_eq!(filled("echo {X}", slug, json!({"X": "a b"})).await, "A-B\n");
    let floor = "X: {type: number, description: d, transform: Math.floor}";
    assert_eq!(filled("echo {X}", floor, json!({"X": 2.7})).await, "2\n");
}

#[tokio::test]
async fn formats_and_choices() {
    // 66, 67
    let formats = "N: {type: number, description: d, format: \"--count={value}\"}\n\
         D: {type: boolean, description: d, default: false, format: \"{value ? '--debug' : ''}\"}\n\
         I: {type: boolean, description: d, default: false, format: \"{value ? '' : '-i'}\"}";
    let command = "echo [{N}{D}{I}]";
    assert_eq!(
        filled(command, formats, json!({"N": 5})).await,
        "[--count=5-i]\n"
    );
    assert_eq!(
        filled(command, formats, json!({"D": "true", "I": true})).await,
        "[--debug]\n"
    );
    // 54
    let number = "N: {type: number, description: d}";
    let choice = "echo {N ? \"it\\'s\" : 'no'}";
    assert_eq!(filled(choice, number, json!({"N": 0})).await, "no\n");
    // 65: only the value's part of a format is quoted.
    let word = "X: {description: d, format: \"-m {value}\", security: {escape-shell: true}}";
    assert_eq!(
        filled("printf '[%s]' {X}", word, json!({"X": "a b"})).await,
        "[-m][a b]"
    );
}

#[tokio::test]
async fn defaults_may_refer_to_others() {
    // 52: in any order of the file, through chains; a caller's value has priority.
    let chain = "C: {description: d, default: \"{B}/c\"}\nA: {description: d, required: true}\n\
                 B: {description: d, default: \"./{A}\"}";
    assert_eq!(
        filled("echo {C}", chain, json!({"A": "a"})).await,
        "./a/c\n"
    );
    assert_eq!(
        filled("echo {C}", chain, json!({"A": "a", "B": "x"})).await,
        "x/c\n"
    );
    // 45: a computed default is validated, too.
    let ruled = "bash: echo {B}\nparameters:\n  A: {description: d}\n  \
                 B: {description: d, default: \"{A}\", validation: {maxLength: 2}}";
    let (kind, text) = Project::new(&[("t", ruled)])
        .error("t", json!({"A": "long"}))
        .await;
    assert_eq!(kind, ErrorKind::BadArguments);
    assert_eq!(
        text,
        "Parameter 'B' must be no more than 2 characters long."
    );
}

#[tokio::test]
async fn predefined_variables_are_the_hosts_own() {
    // 33, 51, c22: one reading of the clock
    let yaml = "bash: echo {TOOL_NAME} {OS} {HOME} {WORKSPACE}; echo {DATE}T{TIME}Z {TIMESTAMP}";
    let text = Project::new(&[("t", yaml)]).text("t", json!({})).await;
    let (first, second) = text.split_once('\n').expect("two lines");
    assert_eq!(first, "t linux $ROOT/home $ROOT");
    let (left, right) = second.trim_end().split_once(' ').expect("two words");
    assert_eq!((left, left.len()), (right, "2026-11-21T09:41:07Z".len()));
    // A parameter of that name wins.
    let own = "OS: {description: d, default: mine}";
    assert_eq!(filled("echo {OS}", own, json!({})).await, "mine\n");
}

#[tokio::test]
async fn what_cannot_be_transformed_is_an_error_of_its_parameter() {
    let refused = async |transform: &str, value: &str| {
        let yaml = format!(
            "bash: echo {{X}}\nparameters:\n  X:\n    description: d\n    transform: {}",
            Value::from(transform)
        );
        let (kind, text) = Project::new(&[("t", &yaml)])
            .error("t", json!({"X": value}))
            .await;
        assert_eq!(kind, ErrorKind::BadArguments);
        text
    };
    // 64
    for (transform, value, why) in [
        ("base64decode", "!", "is not valid base64"),
        (
            "base64decode",
            "/w==",
            "is base64 of bytes that are no UTF-8 text",
        ),
        (
            "urldecode",
            "%zz",
            "has a `%` that two hexadecimal digits do not follow",
        ),
        ("format(0)", "x", "cannot be formatted: it is not a number"),
    ] {
        assert_eq!(
            refused(transform, value).await,
            format!("Parameter 'X' {why}.")
        );
    }
    // 63, c5
    let no_value = |kind: &str| format!("it gave {kind}, which is not a usable value");
    let unread = "TypeError: Cannot read properties of undefined (reading 'more')";
    let late = "it did not end within 1 s".to_owned();
    for (source, why) in [
        ("value.nothing.more", unread.to_owned()),
        ("value +", "SyntaxError: Unexpected end of input".to_owned()),
        ("throw 'no'", "no".to_owned()),
        ("undefined", no_value("undefined")),
        ("Promise.resolve(1)", no_value("a promise")),
        ("async () => 1", no_value("a promise")),
        ("while(true){}", late.clone()),
        ("/(a+)+$/.test('a'.repeat(50) + 'b')", late.clone()),
        // Native code of V8 that does not look whether it is to end.
        ("[].includes.call({ length: 2 ** 53 - 1 }, 1)", late),
    ] {
        let expected = format!("Parameter 'X' cannot be transformed: {why}.");
        assert_eq!(refused(source, "v").await, expected, "{source}");
    }
}

#[tokio::test]
async fn javascript_is_given_nothing_and_keeps_nothing() {
    // 63: no access to the host, no code from text, no memory outside of the heap.
    let yaml = |source: &str| {
        let source = Value::from(source);
        format!(
            "bash: echo {{X}}\nparameters:\n  X:\n    description: d\n    default: v\n    \
             security: {{escape-shell: true}}\n    transform: {source}"
        )
    };
    let all = "[typeof Deno, typeof require, typeof fetch, typeof process, typeof WebAssembly, \
               typeof ArrayBuffer, typeof setTimeout, typeof console].join()";
    let nothing = ["undefined"; 8].join(",");
    assert_eq!(output(&yaml(all), json!({})).await, format!("{nothing}\n"));
    let project = Project::new(&[
        (
            "code",
            &yaml("value.constructor.constructor('return this')()"),
        ),
        (
            "first",
            &yaml("String.prototype.x = 1; globalThis.y = 1; 'set'"),
        ),
        (
            "bomb",
            &yaml("let a = []; for (;;) a.push('x'.repeat(9) + a.length)"),
        ),
        ("second", &yaml("typeof ''.x + typeof y")),
        ("length", &yaml("value.length")),
    ]);
    let (_, text) = project.error("code", json!({})).await;
    assert!(
        text.contains("EvalError: Code generation from strings disallowed"),
        "{text}"
    );
    assert_eq!(project.text("first", json!({})).await, "set\n");
    // A broken isolate is replaced.
    let (_, text) = project.error("bomb", json!({})).await;
    assert!(
        text.contains("it ran out of memory") || text.contains("did not end"),
        "{text}"
    );
    assert_eq!(
        project.text("second", json!({})).await,
        "undefinedundefined\n"
    );
    // A value is never interpreted, whatever it contains.
    assert_eq!(
        project
            .text("length", json!({"X": "'); throw 1; ('"}))
            .await,
        "15\n"
    );
}

// ---- escaping (cycod 68–72) ----

#[tokio::test]
async fn escaped_values_cannot_act() {
    // The words of the specification's own tools: `"{PATTERN}"` with escape-shell.
    let nasty = "x>pwned; $(touch pwned) `id` \"a\\ b\" 'it\\'s' *\n!~";
    let text = filled(
        "printf '%s|' {X} \"{X}\" '{X}'; ls",
        GUARDED_X,
        json!({"X": nasty}),
    )
    .await;
    assert_eq!(text, format!("{nasty}|{nasty}|{nasty}|home\n"));
    // 70: without escaping the text is part of the command.
    let words = json!({"X": "-H 'A: b'"});
    let plain = "X: {description: d}";
    assert_eq!(
        filled("printf '[%s]' {X}", plain, words).await,
        "[-H][A: b]"
    );
    // The author can disable escaping for one place.
    let text = filled("printf '[%s]' {RAW:X}", GUARDED_X, json!({"X": "a b"})).await;
    assert_eq!(text, "[a][b]");
}

#[tokio::test]
async fn long_values_and_null_bytes() {
    // 72
    let long = json!({"X": "é'\"".repeat(60_000)});
    let text = filled("printf %s \"{X}\" | wc -c", GUARDED_X, long).await;
    assert_eq!(text, "240000\n");
    let run = format!("run: echo {{X}}\n{PLAIN_X}");
    let text = failure(&run, json!({"X": "x".repeat(200_000)})).await;
    assert_eq!(
        text,
        "the arguments of `echo` are too long for the system; use `input`"
    );
    let text = failure(&run, json!({"X": "a\u{0}b"})).await;
    assert_eq!(text, "the argument 'args[0]' must be without null bytes");
    let guarded = format!("bash: echo {{X}}\nparameters: {{{GUARDED_X}}}");
    let text = failure(&guarded, json!({"X": "a\u{0}b"})).await;
    assert_eq!(
        text,
        "the value of `X` cannot stand there: it has a NUL character"
    );
    // c19: a parameter without a value gives no argument, an empty value gives an empty one.
    let words = format!("run: printf '[%s]' {{X}} end\n{PLAIN_X}");
    assert_eq!(output(&words, json!({})).await, "[end]");
    assert_eq!(output(&words, json!({"X": ""})).await, "[][end]");
}

#[tokio::test]
async fn languages_without_rules_take_only_harmless_values() {
    let yaml = format!("script: print('{{X}}')\nshell: python3\nparameters: {{{GUARDED_X}}}");
    assert_eq!(output(&yaml, json!({"X": "a b-1.5"})).await, "a b-1.5\n");
    let text = failure(&yaml, json!({"X": "'+__import__('os').name+'"})).await;
    let start = "the value of `X` cannot stand there: haft does not know how this language quotes";
    assert!(text.starts_with(start), "{text}");
}
