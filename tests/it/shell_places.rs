//! YAML tools whose values reach places that a shell evaluates again: the messages of `validate`,
//! and the proof that nothing starts with a hostile value. The places themselves are in
//! `shell_attack`.

use serde_json::json;

use crate::sandbox::Sandbox;
use crate::shell_project::{GUARDED_X, Project, failure, output};

const HOSTILE: &str = "a[$(touch pwned)]";

fn guarded(yaml: &str) -> String {
    format!("{yaml}\nparameters: {{{GUARDED_X}}}")
}

/// Asserts that nothing of a refused tool is started: the canary and `ran` never exist.
async fn refused(yaml: &str, what: &str) {
    let project = Project::new(&[("t", yaml)]);
    let outcome = project.outcome("t", json!({"X": HOSTILE})).await;
    let text = outcome.text();
    assert!(outcome.is_error && text.contains(what), "{yaml}\n{text}");
    assert!(!project.path("pwned").exists(), "{yaml}");
}

#[tokio::test]
async fn calculations_take_whole_numbers_from_everywhere() {
    let number = "it must be a whole number";
    for yaml in [
        guarded("bash: '[[ \"{X}\" -gt 5 ]]; touch ran'"),
        guarded("bash: 'n={X}; echo $((n + 1))'"),
        guarded("script: 'let n={X}'\nshell: bash"),
        guarded("commands: {default: '(( {X} > 1 ))'}"),
        guarded("run: bash -c 'echo $(( $1 ))' bash {X}"),
        guarded("bash: 'exit 1'\nerror-handling: {fallback: 'echo $(( {X} ))'}"),
        // The environment and the input count even without a guard.
        "bash: 'echo $((N + 1))'\nenvironment: {variables: {N: \"{X}\"}}\n\
         parameters: {X: {description: d}}"
            .to_owned(),
        "bash: 'read -r n; echo $((n + 1))'\ninput: \"{X}\"\nparameters: {X: {description: d}}"
            .to_owned(),
        "steps:\n  - {name: a, bash: \"printf '%s' \\\"$V\\\"\"}\n  \
         - {name: b, bash: 'echo $(( {a.output} ))'}\n\
         environment: {variables: {V: \"{X}\"}}\nparameters: {X: {description: d}}"
            .to_owned(),
    ] {
        refused(&yaml, number).await;
    }
    let yaml = guarded("bash: 'n={X}; [[ \"{X}\" -gt 5 ]] && echo $((n + 1))'");
    assert_eq!(output(&yaml, json!({"X": "41"})).await, "42\n");
}

#[tokio::test]
async fn code_takes_no_value() {
    for yaml in [
        guarded("bash: eval {X}"),
        guarded("bash: bash -c 'echo {X}'"),
        guarded("bash: echo {X} | sh"),
        guarded("bash: awk \"BEGIN { print {X} }\""),
        guarded("run: sh -c {X}"),
        guarded("run: '{X} --version'"),
        "bash: 'true'\nenvironment: {variables: {BASH_ENV: \"{X}\"}}\n\
         parameters: {X: {description: d}}"
            .to_owned(),
    ] {
        refused(&yaml, "cannot stand there").await;
    }
    // Values that the author lists are trusted like the author's own text.
    let listed = "bash: bash -c 'echo {X}'\nparameters: {X: {description: d, \
                  validation: {enum: [a, b]}, security: {escape-shell: true}}}";
    assert_eq!(output(listed, json!({"X": "a"})).await, "a\n");
    let number = "bash: awk 'NR == {N}' <<< one\nparameters: {N: {type: number, description: d, \
                  security: {escape-shell: true}}}";
    assert_eq!(output(number, json!({"N": 1})).await, "one\n");
    for (command, value) in [
        ("git log {X}", "--output=x"),
        ("awk -f program {X}", "-fother"),
        ("awk -fprogram {X}", "-fother"),
        ("awk --file=program {X}", "-fother"),
    ] {
        let yaml = guarded(&format!("bash: {command}"));
        let text = failure(&yaml, json!({"X": value})).await;
        assert!(
            text.contains("must not begin with `-`"),
            "{command}: {text}"
        );
    }
}

fn validate(name: &str, yaml: &str) -> (bool, String) {
    let sandbox = Sandbox::with_home();
    let file = format!(".cycod/tools/{name}.yaml");
    sandbox.write(&file, &format!("description: d\ntags: [read]\n{yaml}\n"));
    let ran = sandbox.haft().args(["tool", "validate", name]).output();
    let ran = ran.expect("haft starts");
    let text = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    (ran.status.success(), text.into_owned())
}

#[test]
fn validate_reports_places_with_line_and_hint() {
    let (is_valid, text) = validate("ev", &guarded("bash: eval {X}"));
    assert!(!is_valid, "{text}");
    for part in [
        "error: `{X}`",
        "`eval`, which runs it",
        "ev.yaml:3:1",
        "hint: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let step = "steps:\n  - {name: a, bash: echo 1}\n  - {name: b, bash: 'bash -c \"{a.output}\"'}";
    let (is_valid, text) = validate("st", step);
    assert!(!is_valid && text.contains("error: `{a.output}`"), "{text}");
    // A text in an arithmetic context is only a warning, because a caller may pass a number.
    let (is_valid, text) = validate("num", &guarded("bash: 'echo $(( {X} + 1 ))'"));
    assert!(is_valid && text.contains("type: number"), "{text}");
    let number = "bash: 'echo $(( {X} + 1 ))'\nparameters: {X: {type: number, description: d, \
                  security: {escape-shell: true}}}";
    let (is_valid, text) = validate("fine", number);
    assert!(is_valid && !text.contains("whole number"), "{text}");
}
