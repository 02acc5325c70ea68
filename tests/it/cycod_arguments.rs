//! YAML shell tools as files: their parameters, the validation of arguments, YAML itself. Nothing
//! is run here. Numbers are those of spec cycod.

use std::fs;

use haft::Host;
use serde_json::json;

use crate::cycod::{World, config};
use crate::sandbox::Sandbox;

// E: parameters and arguments.

/// 34–35, 45, 46, 58, 228: definitions of parameters that contradict themselves.
#[tokio::test]
async fn definitions_of_parameters_are_checked() {
    let world = World::parameters(
        "A: {description: d, type: number, default: abc}\n\
         B: {description: d, default: x, validation: {minLength: 2, pattern: '^[ab]+$'}}\n\
         C: {description: d, validation: {pattern: '('}}\n\
         D: {description: d, type: number, validation: {minimum: 5, maximum: 1, minLength: 2}}\n\
         E: {description: d, type: boolean, default: maybe}\n\
         'F G': {description: d}\n\
         H: text\n\
         I: {description: d, type: array, default: [a, c], validation: {enum: [a, b]}}\n",
    );
    assert_eq!(
        world.report().await,
        "t.yaml:4:46 error: The default is not allowed: Parameter 'A' must be a valid number.\n\
         t.yaml:5:32 error: The default is not allowed: Parameter 'B' must be at least 2 characters long.\n\
         t.yaml:5:32 error: The default is not allowed: Parameter 'B' does not match the required pattern: ^[ab]+$.\n\
         t.yaml:6:45 error: Parameter 'C' has an invalid pattern: (: Unbalanced parenthesis\n\
         t.yaml:7:49 error: Parameter 'D' allows nothing: `minimum` is above `maximum`.\n\
         t.yaml:7:74 warning: `minLength` has no effect on a number\n\
         t.yaml:8:47 error: The default is not allowed: Parameter 'E' must be true or false.\n\
         t.yaml:9:3 error: `F G` cannot be the name of a parameter: commands could not refer to it\n\
         t.yaml:10:3 error: Parameter 'H' must have a description.\n\
         t.yaml:10:6 error: a parameter must be a mapping, not a string\n\
         t.yaml:11:45 error: The default is not allowed: Parameter 'I' must be one of: a, b."
    );
}

/// 52: defaults that refer to each other in a circle; a chain is fine.
#[tokio::test]
async fn defaults_may_refer_to_each_other() {
    let world = World::parameters(
        "A: {description: d, default: '{B}/x'}\nB: {description: d, default: '{C:trim}'}\nC: {description: d, default: '${A}{WORKSPACE}'}\n",
    );
    assert_eq!(world.report().await, "t (exec)");
    let world = World::parameters(
        "A: {description: d, default: '{B}/x'}\nB: {description: d, default: '{A:trim}'}\n",
    );
    assert_eq!(
        world.report().await,
        "t.yaml:1:1 error: circular dependency of defaults A -> B -> A"
    );
}

/// 36, 37, 39–44, 47, 49: every problem of the arguments at once, in the format's own words.
#[tokio::test]
async fn arguments_are_checked_all_at_once() {
    let world = World::parameters(
        "R: {description: d, required: true}\n\
         D: {description: d, required: true, default: x}\n\
         S: {description: d, validation: {minLength: 2, maxLength: 3, pattern: '^[a-z🦀]+$'}}\n\
         N: {description: d, type: number, validation: {minimum: 1, maximum: 5, multipleOf: 0.1}}\n\
         B: {description: d, type: boolean}\n\
         L: {description: d, type: array, validation: {minItems: 1, maxItems: 2, uniqueItems: true}}\n\
         O: {description: d, type: object}\n\
         E: {description: d, validation: {enum: [a, no, 3]}}\n",
    );
    let refused = [
        ("{}", "Parameter 'R' is required."),
        (r#"{"R":null}"#, "Parameter 'R' is required."),
        (r#"{"R":[]}"#, "Parameter 'R' must be a string."),
        (
            r#"{"R":"","r":1,"NN":2}"#,
            "Unknown parameter 'r', did you mean 'R'? Known parameters: R, D, S, N, B, L, O, E.\n\
             Unknown parameter 'NN', did you mean 'N'? Known parameters: R, D, S, N, B, L, O, E.",
        ),
        (
            r#"{"R":"","S":"A","N":"0.95","B":"maybe","L":[],"O":"[1]","E":"A"}"#,
            "Parameter 'S' must be at least 2 characters long.\n\
             Parameter 'S' does not match the required pattern: ^[a-z🦀]+$.\n\
             Parameter 'N' must be at least 1.\n\
             Parameter 'N' must be a multiple of 0.1.\n\
             Parameter 'B' must be true or false.\n\
             Parameter 'L' must have at least 1 items.\n\
             Parameter 'O' must be an object.\n\
             Parameter 'E' must be one of: a, no, 3.",
        ),
        (
            r#"{"R":"","S":"abcd","N":6,"L":"a,a,b","O":1}"#,
            "Parameter 'S' must be no more than 3 characters long.\n\
             Parameter 'N' must be no more than 5.\n\
             Parameter 'L' must have no more than 2 items.\n\
             Parameter 'L' must not have the same item twice.\n\
             Parameter 'O' must be an object.",
        ),
        (
            r#"{"R":"","N":"abc"}"#,
            "Parameter 'N' must be a valid number.",
        ),
        (
            r#"{"R":"","N":"NaN"}"#,
            "Parameter 'N' must be a valid number.",
        ),
        (
            r#"{"R":"","N":"inf"}"#,
            "Parameter 'N' must be a valid number.",
        ),
        (
            r#"{"R":"","N":""}"#,
            "Parameter 'N' must be a valid number.",
        ),
        ("[1]", "Arguments must be an object, not a list."),
    ];
    for (arguments, refusal) in refused {
        assert_eq!(world.refusal(arguments).await, refusal, "{arguments}");
    }
    let taken = [
        r#"{"R":"x"}"#,
        r#"{"R":5}"#,
        r#"{"R":true,"D":null}"#,
        r#"{"R":"","S":"🦀🦀🦀"}"#,
        r#"{"R":"","N":"1e0"}"#,
        r#"{"R":"","N":" 3 "}"#,
        r#"{"R":"","N":2.3}"#,
        r#"{"R":"","B":"False"}"#,
        r#"{"R":"","B":1}"#,
        r#"{"R":"","B":"yes"}"#,
        r#"{"R":"","L":"[1,2]"}"#,
        r#"{"R":"","L":"one"}"#,
        r#"{"R":"","O":"{\"a\":[1]}"}"#,
        r#"{"R":"","E":3}"#,
        r#"{"R":"","E":"no"}"#,
    ];
    for arguments in taken {
        assert_eq!(world.refusal(arguments).await, "", "{arguments}");
    }
}

/// 46: ECMAScript's dialect, including lookahead and backreferences. A pattern with endless
/// backtracking is stopped; a pattern that needs none has no limit.
#[tokio::test]
async fn patterns_cannot_run_away() {
    let world = World::parameters(
        "LOOK: {description: d, validation: {pattern: '^(?=.*[0-9])[^x]{3,}$'}}\n\
         BACK: {description: d, validation: {pattern: '^(a+)-\\1$'}}\n\
         SLOW: {description: d, validation: {pattern: '^(?=((a+)+)+$)b'}}\n\
         FAST: {description: d, validation: {pattern: '^(a+)+$'}}\n\
         WORD: {description: d, validation: {pattern: '^\\d+$'}}\n",
    );
    assert_eq!(world.report().await, "t (exec)");
    let long = format!("{}!", "a".repeat(5_000));
    let cases = [
        (json!({ "LOOK": "ab1" }), ""),
        (
            json!({ "LOOK": "abc" }),
            "Parameter 'LOOK' does not match the required pattern: ^(?=.*[0-9])[^x]{3,}$.",
        ),
        (json!({ "BACK": "aa-aa" }), ""),
        (
            json!({ "BACK": "aa-a" }),
            "Parameter 'BACK' does not match the required pattern: ^(a+)-\\1$.",
        ),
        (
            json!({ "FAST": long }),
            "Parameter 'FAST' does not match the required pattern: ^(a+)+$.",
        ),
        (
            json!({ "WORD": "٣" }),
            "Parameter 'WORD' does not match the required pattern: ^\\d+$.",
        ),
    ];
    let started = std::time::Instant::now();
    for (arguments, refusal) in cases {
        assert_eq!(world.refusal(&arguments.to_string()).await, refusal);
    }
    let slow = world.refusal(&json!({ "SLOW": long }).to_string()).await;
    assert!(slow.starts_with("Parameter 'SLOW' "), "{slow}");
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

// (c)6: YAML itself.

/// c6, c7: text stays the text that it is.
#[tokio::test]
async fn scalars_keep_their_text() {
    let world = World::parameters(
        "A: {description: d, default: 0755}\nB: {description: d, default: no}\n\
         C: {description: d, default: 1.0}\nD: {description: d, default: ~}\n\
         E: {description: on, default: 2024-01-01}\nF: {description: d, type: number, default: 0755}\n\
         G: {description: d, type: number, default: '1e3'}\n\
         H: {description: d, type: boolean, default: yes}\n\
         I: {description: d, type: object, default: {1: no, true: 007}}\n",
    );
    assert_eq!(world.report().await, "t (exec)");
    let schema = world.found("t").await.input_schema;
    let defaults: Vec<String> = ["A", "B", "C", "D", "E", "F", "G", "H", "I"]
        .map(|name| schema["properties"][name]["default"].to_string())
        .into();
    assert_eq!(
        defaults.join(" "),
        r#""0755" "no" "1.0" null "2024-01-01" 755 1000 true {"1":"no","true":"007"}"#
    );
    assert_eq!(world.property("E").await["description"], "on");
}

/// c6: what is hostile, and what merely came from another system.
#[tokio::test]
async fn files_may_come_from_anywhere() {
    let bomb: String = (1..30)
        .map(|n| format!("k{n}: &a{n} [{0}, {0}, {0}, {0}]\n", format!("*a{}", n - 1)))
        .collect();
    let deep = "[".repeat(5_000);
    let big = format!("description: d\nbash: echo\n# {}\n", "x".repeat(5 << 20));
    let cases: [(&str, &str); 13] = [
        ("\u{feff}description: d\nbash: echo\n", "t (exec)"),
        ("description: d\r\nbash: |\r\n  a\r\n  b\r\n", "t (exec)"),
        (
            "description: d\nbash: echo\n---\ndescription: e\n",
            "t.yaml:3:1 error: the file holds more than one document",
        ),
        ("", "t.yaml:1:1 error: the file is empty"),
        ("# only a comment\n", "t.yaml:1:1 error: the file is empty"),
        (
            "- a\n- b\n",
            "t.yaml:1:1 error: a tool must be a mapping, not a list",
        ),
        (
            "description: d\n\tbash: x\n",
            "t.yaml:1:14 error: not valid YAML: [..]tab",
        ),
        (
            &format!("description: d\nbash: echo\nx: {deep}\n"),
            "t.yaml:3:[..] error: [..]",
        ),
        (
            &format!("description: d\nbash: echo\nk0: &a0 [a]\n{bomb}"),
            "t.yaml:[..] error: it holds too many values",
        ),
        (
            "description: d\nbash: echo\nx: &a [*a]\n",
            "t.yaml:3:8 error: an alias stands inside what it refers to",
        ),
        (
            "description: d\nbash: echo\n? [a, b]\n: c\n",
            "t.yaml:3:3 error: a key must be text",
        ),
        (
            "x: &c {description: d, bash: echo}\n<<: *c\n",
            "t (exec)\nt.yaml:1:1 warning: unknown key `x` is ignored",
        ),
        (&big, "t.yaml error: the file is larger than 4 MB"),
    ];
    for (text, expected) in cases {
        let report = World::new(&[("t.yaml", text)]).report().await;
        let shown: String = text.chars().take(60).collect();
        assert!(
            fits(expected, &report),
            "{shown:?} gives\n{report}\nnot\n{expected}"
        );
    }
    let sandbox = Sandbox::with_home();
    let path = sandbox.write(".cycod/tools/t.yaml", "");
    fs::write(path, b"description: d\nbash: \xff\n").expect("a file of ours");
    let host = Host::new(config(&sandbox.path(), true));
    let problem = host.catalog().await.problems[0].clone();
    assert_eq!(
        (problem.message.as_str(), problem.line),
        ("the file is not valid UTF-8", Some(2))
    );
}

/// Returns true if `text` matches `pattern`, in which `[..]` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let mut rest = text;
    for (nth, part) in pattern.split("[..]").enumerate() {
        match rest.find(part) {
            Some(at) if nth > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    rest.is_empty() || pattern.ends_with("[..]")
}
