//! YAML shell tools with steps: order, conditions, retries, outputs, streams, secrets. Numbers are
//! those of spec cycod.

use std::time::{Duration, Instant};

use haft::{ErrorKind, Event};
use serde_json::{Value, json};

use crate::shell_project::{DEEP, PLAIN_X, Project, failure, output};

// ---- steps (cycod 80–98) ----

#[tokio::test]
async fn steps_run_in_order_and_stop_at_a_failure() {
    let yaml = "steps:\n  - {name: a, bash: echo a}\n  \
                - {name: b, bash: 'echo b; echo why >&2; exit 7'}\n  \
                - {name: c, bash: echo c; touch ran}";
    let project = Project::new(&[("t", yaml), ("i", &format!("ignore-errors: true\n{yaml}"))]);
    let failed = project.outcome("t", json!({})).await;
    // 82, 96
    assert_eq!(failed.text(), "why\nStep 'b' failed with exit code 7");
    assert!(failed.is_error && !project.path("ran").exists());
    let steps = failed.details["steps"].as_array().expect("a list");
    let states: Vec<_> = steps.iter().map(|step| step["state"].clone()).collect();
    assert_eq!(states, ["ok", "failed", "not started"]);
    // 29: the tool continues, and reports its true exit code.
    let ignored = project.outcome("i", json!({})).await;
    assert_eq!(
        (ignored.is_error, ignored.text().as_str()),
        (false, "a\nb\nc\n")
    );
    assert_eq!(ignored.details["exitCode"], 7);
    // 83, 95
    let continued = "steps:\n  - {name: a, bash: 'printf a; exit 1', continue-on-error: true}\n  \
                     - {name: b, bash: 'echo {a.exit-code}'}";
    assert_eq!(output(continued, json!({})).await, "a\n1\n");
}

#[tokio::test]
async fn steps_know_of_each_other() {
    // 84, 30, 71, c2: the output of a step is plain text for the next one.
    let yaml = "steps:\n  - name: first\n    bash: |\n      printf '%s\\n\\n' \"it's {X}\"\n      \
                echo e >&2; sleep 0.02\n  - name: c\n    bash: |\n      \
                printf '%s|' '{first.output}' \"{first.output}\" {first.error} {first.exit-code}\n      \
                [ {first.duration} -ge 20 ] && echo {first.start-time} {first.end-time}\n\
                parameters:\n  X: {description: d, security: {escape-shell: true}}";
    let project = Project::new(&[("t", yaml)]);
    let hostile = "'; touch pwned; $(touch pwned) {c.output}";
    let outcome = project.outcome("t", json!({"X": hostile})).await;
    let text = outcome.details["steps"][1]["stdout"]
        .as_str()
        .expect("a text")
        .to_owned();
    let value = format!("it's {hostile}");
    let rest = text.strip_prefix(&format!("{value}|{value}|e|0|"));
    let rest = rest.unwrap_or_else(|| panic!("{text}"));
    let times: Vec<&str> = rest.split_whitespace().collect();
    assert!(
        times.len() == 2 && times[0] < times[1] && times[0].ends_with('Z'),
        "{rest}"
    );
    assert!(!project.path("pwned").exists());
}

#[tokio::test]
async fn conditions_are_javascript_over_values() {
    let ran = async |condition: &str| {
        let condition = Value::from(condition);
        let yaml = format!(
            "steps:\n  - {{name: a, bash: 'printf %s \"{{X}}\"'}}\n  \
             - {{name: s, bash: echo, run-condition: 'false'}}\n  \
             - {{name: b, bash: echo ran, run-condition: {condition}}}\n\
             parameters:\n  X: {{description: d, security: {{escape-shell: true}}}}\n  \
             N: {{type: number, description: d, default: 5}}"
        );
        let hostile = json!({"X": "\" || true || \""});
        let outcome = Project::new(&[("t", &yaml)]).outcome("t", hostile).await;
        if outcome.is_error {
            outcome.text()
        } else {
            outcome.details["steps"][2]["state"]
                .as_str()
                .expect("a state")
                .to_owned()
        }
    };
    for (condition, state) in [
        // 85, decided without JavaScript
        ("{a.exit-code} == 0", "ok"),
        ("{a.exit-code} != 0", "skipped"),
        (
            "(({a.exit-code} == 0) || ({s.exit-code} == 0)) && !({N} < 5)",
            "ok",
        ),
        (
            "{N} >= 5 && {N} <= 5.0 && '5' == {N} && \"a\" !== 'b'",
            "ok",
        ),
        ("{N} === '5'", "skipped"),
        // 86: null is neither 0 nor anything else.
        ("{s.exit-code} == 0", "skipped"),
        ("{s.exit-code} != 0", "ok"),
        ("{s.output} == ''", "ok"),
        // 87, c2: as a value, and as text in quotes.
        ("{a.output} == 'no'", "skipped"),
        ("\"{a.output}\" == \"no\"", "skipped"),
        ("'{a.output}' == '\" || true || \"'", "ok"),
        // with it
        (
            "{a.output}.includes('true') && `{a.output}`.length === 14",
            "ok",
        ),
        ("{a.output}.length > 100", "skipped"),
        ("[1, 2].length == 2", "ok"),
        ("true", "ok"),
    ] {
        assert_eq!(ran(condition).await, state, "{condition}");
    }
    // 88
    let text = ran("{a.exit-code} ==").await;
    let undecided = "Step 'b' failed: its run-condition cannot be decided: ";
    assert_eq!(
        text,
        format!("{undecided}SyntaxError: Unexpected end of input")
    );
    let text = ran("nonsense > 1").await;
    assert_eq!(
        text,
        format!("{undecided}ReferenceError: nonsense is not defined")
    );
}

#[tokio::test]
async fn parallel_steps_run_at_once() {
    // 92, and the hundred of the issue, with room for a busy machine.
    let step = |n| format!("  - {{name: s{n}, bash: sleep 1, parallel: true}}\n");
    let steps: String = (0..100).map(step).collect();
    let started = Instant::now();
    output(&format!("steps:\n{steps}"), json!({})).await;
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn the_order_is_what_the_author_said() {
    // 89–91, 93: each step writes its name; a parallel one waits only for the steps that it names.
    async fn order(steps: &[String]) -> String {
        let project = Project::new(&[("t", &format!("steps:\n{}", steps.concat()))]);
        project.outcome("t", json!({})).await;
        project.read("order").replace('\n', " ")
    }
    let step = |name: &str, more: &str| {
        format!("  - {{name: {name}, bash: echo {name} >> order{more}}}\n")
    };
    let slow = |name: &str, more: &str| {
        format!("  - {{name: {name}, bash: 'sleep 0.5; echo {name} >> order'{more}}}\n")
    };
    let parallel = ", parallel: true";
    assert_eq!(order(&[slow("a", ""), step("b", parallel)]).await, "b a ");
    // A step does not wait for an unrelated parallel step,
    assert_eq!(order(&[slow("a", parallel), step("b", "")]).await, "b a ");
    // but it waits for a step that it names or refers to.
    let named = step("b", ", wait-for: [a]");
    assert_eq!(order(&[slow("a", parallel), named]).await, "a b ");
    let referring = step("b", ", run-condition: '{a.exit-code} == 0'");
    assert_eq!(order(&[slow("a", parallel), referring]).await, "a b ");
    // A step may wait for a later one; all other steps keep the order of the list.
    let first = step("a", ", wait-for: [c]");
    assert_eq!(
        order(&[first, step("b", ""), step("c", ""), step("d", "")]).await,
        "c a b d "
    );
    // 94: a step that waits for a failed step is not started; other steps continue.
    let failing = "  - {name: a, bash: exit 1, parallel: true}\n".to_owned();
    let waiting = step("c", ", wait-for: [a]");
    assert_eq!(order(&[failing, slow("b", parallel), waiting]).await, "b ");
}

#[tokio::test]
async fn circles_of_references_are_refused() {
    let yaml = "steps:\n  - {name: a, bash: 'touch ran; echo {b.output}'}\n  \
                - {name: b, bash: 'echo {a.output}'}";
    let project = Project::new(&[("t", yaml)]);
    // A circle is an error, wherever it is found, and nothing runs.
    match project.call("t", &json!({})).outcome().await {
        Ok(outcome) => assert_eq!(outcome.text(), "circular dependency a -> b -> a"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::NoSuchTool),
    }
    assert!(!project.path("ran").exists());
}

// ---- retry and fallback (cycod 99–104) ----

#[tokio::test]
async fn a_step_is_tried_again_and_then_replaced() {
    let retry = "error-handling: {retry: {attempts: 3, delay: 20}";
    let step = |bash: &str| format!("steps:\n  - {{name: a, bash: '{bash}', {retry}}}}}");
    let fallback = format!("bash: exit 9\n{retry}, fallback: 'echo {{X}}'}}\n{PLAIN_X}");
    let project = Project::new(&[
        ("third", &step("echo x >> n; [ $(wc -l < n) = 3 ]")),
        ("never", &step("echo x >> m; exit 9")),
        ("fallback", &fallback),
        ("worse", "bash: exit 9\nerror-handling: {fallback: exit 8}"),
        (
            "slow",
            "steps:\n  - {name: a, bash: 'sleep 9', timeout: 300, \
             error-handling: {retry: {attempts: 1, delay: 1}}}",
        ),
    ]);
    let third = project.outcome("third", json!({})).await;
    assert!(!third.is_error && third.details["steps"][0]["attempts"] == 3);
    // 99, 100: 1 + 3 runs; 20, 40 and 80 ms between them.
    let started = Instant::now();
    assert!(project.outcome("never", json!({})).await.is_error);
    assert!(
        started.elapsed() >= Duration::from_millis(140),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(project.read("m").lines().count(), 4);
    // 101, 102, 104
    assert_eq!(
        project.text("fallback", json!({"X": "saved"})).await,
        "saved\n"
    );
    assert_eq!(
        project.text("worse", json!({})).await,
        "Command failed with exit code 8"
    );
    // 97, 103: a timeout is a failure like any other.
    let slow = project.outcome("slow", json!({})).await;
    assert_eq!(
        slow.text(),
        "Step 'a' failed: Command timed out after 300ms"
    );
    assert_eq!(slow.details["steps"][0]["attempts"], 2);
}

// ---- output (cycod 105–111) ----

#[tokio::test]
async fn output_keeps_its_limit() {
    let step = |more: &str| {
        format!("steps:\n  - {{name: a, bash: printf ééééé, output: {{buffer-limit: 5{more}}}}}")
    };
    // 106, 110, c12: in whole characters.
    let text = output(&step(""), json!({})).await;
    assert_eq!(text, "éé\nwarning: Output truncated to 5 bytes");
    // 107
    let text = failure(&step(", truncation: false"), json!({})).await;
    assert_eq!(
        text,
        "éé\nStep 'a' failed: Output exceeds buffer limit of 5 bytes"
    );
    // c10: whole outputs in the order of the file, though they come at once.
    let letters = |name: &str| {
        format!(
            "  - {{name: {name}, bash: 'for i in {{1..2000}}; do printf {name}; done', parallel: true}}\n"
        )
    };
    let steps: String = ["a", "b", "c"].map(letters).concat();
    let text = output(&format!("steps:\n{steps}"), json!({})).await;
    assert_eq!(
        text,
        ["a", "b", "c"].map(|name| name.repeat(2000)).join("\n")
    );
}

#[tokio::test]
async fn streamed_lines_come_while_the_step_runs() {
    // 108, 178: the second line is written only after the first was received. A secret that is
    // split over two writes is masked.
    let yaml = "steps:\n  - name: a\n    bash: |\n      echo first\n      \
                until [ -e go ]; do sleep 0.02; done\n      \
                printf 'sek'; sleep 0.1; echo 'ret123 {K}'\n    \
                output: {mode: stream, stream-callback: console, masked-values: [\"{K}\"]}\n\
                parameters: {K: {description: d}}";
    let project = Project::new(&[("t", yaml)]);
    let mut call = project.call("t", &json!({"K": "sekret123"}));
    let mut streamed = String::new();
    let outcome = loop {
        match call.next_event().await {
            Event::Started => {}
            Event::Update(update) => {
                let update: Value = serde_json::from_str(update.get()).expect("it is JSON");
                assert_eq!(update["details"], json!({"step": "a", "stream": "stdout"}));
                streamed.push_str(update["content"][0]["text"].as_str().expect("a text"));
                project.sandbox.write(&format!("{DEEP}/go"), "");
            }
            Event::Finished(outcome) => break outcome.expect("it runs"),
        }
    };
    assert_eq!(streamed, "first\n*** ***\n");
    assert_eq!(outcome.text(), "first\n*** ***\n");
}

#[tokio::test]
async fn a_stream_can_go_to_a_file() {
    let yaml = "steps:\n  - {name: ab, bash: echo line, output: {mode: stream, stream-callback: file}}\n\
                file-paths: {temp-directory: tmp}";
    let project = Project::new(&[("t", yaml)]);
    assert_eq!(project.text("t", json!({})).await, "line\n");
    assert_eq!(project.read("tmp/ab.log"), "line\n");
}

// ---- secrets (cycod 75, 109, 178–180) ----

#[tokio::test]
async fn secrets_are_seen_nowhere() {
    let secret = "s3cr3t/\"value+ x";
    let yaml = "steps:\n  - name: a\n    bash: |\n      printf %s \"$KEY\"; echo \" {K}\"\n      \
                printf %s \"$KEY\" | base64\n      printf %s \"$KEY\" | jq -sRr @uri\n      \
                printf %s \"$KEY\" | jq -sR .; echo \"$KEY\" >&2\n  \
                - {name: b, bash: 'test {a.error} = \"$KEY\" && exit 3'}\n\
                environment: {variables: {KEY: \"{K}\"}, secrets: [KEY]}\n\
                parameters: {K: {description: d, security: {escape-shell: true}}}";
    let project = Project::new(&[("t", yaml)]);
    let outcome = project.outcome("t", json!({"K": secret})).await;
    // The tool itself uses the true value.
    assert_eq!(outcome.text(), "Step 'b' failed with exit code 3");
    let stdout = &outcome.details["steps"][0]["stdout"];
    assert_eq!(*stdout, "*** ***\n***\n***\n\"***\"\n");
    let shown = format!("{}{}", outcome.text(), outcome.details);
    for form in ["s3cr3t", "czNjcjN0", "s3cr3t%2F"] {
        assert!(!shown.contains(form), "{form}: {shown}");
    }
    // c12: cut after masking, so that no half is left; 179: short ones are not masked.
    let cut = "steps:\n  - {name: a, bash: 'printf \"%s\" \"xx{K}\"', \
               output: {buffer-limit: 6, masked-values: [\"{K}\", x]}}\n\
               parameters: {K: {description: d}}";
    let text = output(cut, json!({"K": "abcdefghij"})).await;
    assert_eq!(text, "xx***\nwarning: Output truncated to 6 bytes");
    // c13: nor in what haft says about a command.
    let named = "run: \"{K}\"\nenvironment: {secrets: [K]}\nparameters: {K: {description: d}}";
    let text = failure(named, json!({"K": "no-such-thing"})).await;
    assert_eq!(text, "`***` is not installed");
}
