//! YAML shell tools: time, memory, the end, tools in tools, rights. Numbers are those of spec cycod.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use haft::call::Stopped;
use haft::ui::{Answer, Prompt, Question, UserInterface};
use haft::{ErrorKind, Event};
use serde_json::json;
use serde_json::value::RawValue;

use crate::shell_project::{PLAIN_X, Project, failure, output};

// ---- time, memory, the end (cycod 112–117) ----

#[tokio::test]
async fn the_time_of_a_tool_ends_everything_and_cleanup_still_runs() {
    // c8: processes that ignore signals, grandchildren that hold the pipe, a retry that sleeps.
    let yaml = |bash: &str| {
        format!(
            "bash: \"{bash}\"\ntimeout: 600\n\
             resources: {{cleanup: [{{final-command: 'echo {{X}} >> cleaned'}}]}}\n\
             parameters: {{X: {{description: d, default: it}}}}"
        )
    };
    let retry = "error-handling: {retry: {attempts: 9, delay: 60000}}";
    let project = Project::new(&[
        (
            "deaf",
            &yaml("trap '' TERM; echo begun; sleep 30 & sleep 30; sleep 30"),
        ),
        ("retrying", &format!("{}\n{retry}", yaml("exit 1"))),
        ("fails", &yaml("exit 1")),
        ("works", &yaml("echo fine")),
        (
            "smaller",
            "bash: sleep 30\ntimeout: 30000\nresources: {timeout: 200}",
        ),
    ]);
    let started = Instant::now();
    let deaf = project.outcome("deaf", json!({})).await;
    assert_eq!(deaf.text(), "begun\nCommand timed out after 600ms");
    assert_eq!((deaf.is_error, deaf.stopped), (true, None));
    let late = "Command timed out after 600ms";
    assert_eq!(project.text("retrying", json!({})).await, late);
    // 113
    let smaller = project.text("smaller", json!({})).await;
    assert_eq!(smaller, "Command timed out after 200ms");
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
    // 115
    project.outcome("fails", json!({})).await;
    project.outcome("works", json!({})).await;
    assert_eq!(project.read("cleaned"), "it\n".repeat(4));
}

#[tokio::test]
async fn cleanup_changes_nothing_and_runs_after_a_cancel() {
    // 116, in order, with what the steps said
    let failing = "steps: [{name: a, bash: echo id7}]\nresources:\n  cleanup:\n    \
                   - final-command: echo {a.output} > first\n    - final-command: exit 1\n    \
                   - final-command: cat first > second";
    let slow = "bash: sleep 30\nresources: {cleanup: [{final-command: touch cleaned}]}";
    let empty = "bash: 'true'\nresources: {cleanup: [{final-command: 'touch emptied; : {X}/'}]}";
    let empty = format!("{empty}\n{PLAIN_X}");
    // The command runs before the folder is removed, whatever the order of the two keys is.
    let both = "bash: echo text > {TEMP_DIR}/file\nfile-paths: {temp-directory: made}\n\
                resources:\n  cleanup:\n    - delete-temp-files: true\n      \
                final-command: cp {TEMP_DIR}/file copied";
    let tools = [
        ("t", failing),
        ("slow", slow),
        ("empty", &empty),
        ("both", both),
    ];
    let project = Project::new(&tools);
    assert_eq!(project.text("t", json!({})).await, "id7\n");
    assert_eq!(project.read("second"), "id7\n");
    // c23: an empty cleanup command cleans nothing up.
    let empty = project.outcome("empty", json!({})).await;
    assert!(!empty.is_error && !project.path("emptied").exists());
    project.outcome("both", json!({})).await;
    assert_eq!(project.read("copied"), "text\n");
    assert!(!project.path("made").exists());
    let mut call = project.call("slow", &json!({}));
    let event = call.next_event().await;
    assert!(matches!(event, Event::Started), "{event:?}");
    call.cancellation().cancel();
    let outcome = call.outcome().await.expect("a stopped call is an outcome");
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    assert!(project.path("cleaned").exists());
}

#[tokio::test]
async fn a_killed_call_gets_no_cleanup() {
    let slow = "steps: [{name: a, bash: \"trap '' TERM; echo up; sleep 1000\", output: {mode: stream}}]\n\
                resources: {cleanup: [{final-command: touch cleaned}]}";
    let project = Project::configured(&[("slow", slow)], "limits: {grace: 1h}\n");
    let mut call = project.call("slow", &json!({}));
    while !matches!(call.next_event().await, Event::Update(_)) {}
    call.cancellation().kill();
    let outcome = call.outcome().await.expect("a stopped call is an outcome");
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    assert!(!project.path("cleaned").exists());
}

#[tokio::test]
async fn a_background_child_does_not_hold_a_step() {
    // c9
    let started = Instant::now();
    assert_eq!(
        output("bash: sleep 20 & echo done", json!({})).await,
        "done\n"
    );
    assert!(
        started.elapsed() < Duration::from_secs(15),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn memory_has_a_limit_and_questions_have_an_answer() {
    // 114
    let hog = "run: python3 -c \"x = b'x' * (1 << 30)\"\nresources: {max-memory: 256MB}";
    let text = failure(hog, json!({})).await;
    let is_whole_tree = haft_process::can_limit_trees();
    let why = if is_whole_tree {
        "memory limit"
    } else {
        "MemoryError"
    };
    assert!(text.contains(why), "{text}");
    // 117
    let asks = "bash: read -r answer; echo \"got $answer\"\ninteractive: true\n\
                interactive-options: {default-response: y}";
    assert_eq!(output(asks, json!({})).await, "got y\n");
}

/// Answers in turn, each after a while; `None` never answers.
struct Person {
    answers: Mutex<VecDeque<Option<(u64, &'static str)>>>,
    asked: Mutex<Vec<Prompt>>,
}

#[async_trait]
impl UserInterface for Person {
    async fn ask(&self, question: Question) -> Answer {
        self.asked
            .lock()
            .expect("no test panics here")
            .push(question.what);
        let answer = self
            .answers
            .lock()
            .expect("no test panics here")
            .pop_front();
        match answer.flatten() {
            Some((millis, answer)) => {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                Answer::Text(answer.to_owned())
            }
            None => std::future::pending().await,
        }
    }
}

impl Person {
    /// Runs a tool `t` with a user who answers like this; returns its output and the questions.
    async fn answers(yaml: &str, answers: &[Option<(u64, &'static str)>]) -> (String, Vec<Prompt>) {
        let project = Project::new(&[("t", yaml)]);
        let person = Arc::new(Person {
            answers: Mutex::new(answers.iter().copied().collect()),
            asked: Mutex::default(),
        });
        let host = project.host.with_ui(person.clone());
        let call = haft::Call {
            id: "c".into(),
            tool: "t".into(),
            arguments: RawValue::from_string("{}".to_owned()).expect("it is JSON"),
        };
        let outcome = host.call(call, None).outcome().await.expect("it runs");
        let asked = person.asked.lock().expect("no test panics here").clone();
        (outcome.text(), asked)
    }
}

#[tokio::test]
async fn an_interactive_program_is_answered_by_its_user() {
    // 117: the prompt is the program's own text, masked; without an answer in time the default is
    // sent.
    let yaml = "bash: |\n  printf 'Name of {K}? '; read -r name; echo \"hi $name\"\n  \
                printf 'Sure? '; read -r sure; echo \"$sure\"; read -r last; echo \"[$last]\"\n\
                interactive: true\ninteractive-options: {timeout: 900, default-response: y}\n\
                timeout: 30000\nenvironment: {secrets: [K]}\n\
                parameters: {K: {description: d, default: sekret}}";
    let (text, asked) = Person::answers(yaml, &[Some((0, "Ada")), None]).await;
    // The last question has no text, so the user is not asked: the default is sent after the
    // timeout.
    assert_eq!(text, "Name of ***? hi Ada\nSure? y\n[y]\n");
    let title = |title: &str| Prompt::Input {
        title: title.to_owned(),
        placeholder: Some("y".to_owned()),
    };
    assert_eq!(asked, [title("Name of ***?"), title("hi Ada\nSure?")]);
    // 112: the time that the user needs for an answer does not count against the tool's timeout.
    let slow = "bash: read -r a; echo \"$a\"\ninteractive: true\ntimeout: 2000\n\
                interactive-options: {timeout: 60000}";
    let (text, asked) = Person::answers(slow, &[Some((3000, "late"))]).await;
    assert_eq!(text, "late\n");
    let title = "`t` waits for an answer".to_owned();
    let placeholder = None;
    assert_eq!(asked, [Prompt::Input { title, placeholder }]);
}

// ---- tools in tools (cycod 126–136) ----

#[tokio::test]
async fn a_tool_uses_another_one() {
    let inner = "bash: echo [{N}] [{L}] {X}; exit {CODE}\nparameters:\n  \
                 N: {type: number, description: d, required: true}\n  \
                 L: {type: array, description: d, default: []}\n  \
                 X: {description: d, security: {escape-shell: true}}\n  \
                 CODE: {type: number, description: d, default: 0}";
    let outer = "steps:\n  - name: a\n    use-tool: inner\n    \
                 with: {N: 5, L: \"{LIST}\", X: \"it's {MORE}\"}\n  \
                 - name: b\n    bash: echo {a.exit-code} {a.output}\n  \
                 - {name: c, use-tool: inner, with: {N: 1, CODE: 4}, continue-on-error: true}\n  \
                 - {name: d, bash: 'echo {c.exit-code}'}\n\
                 parameters: {LIST: {type: array, description: d}, MORE: {description: d}}";
    let missing = "steps: [{name: a, use-tool: inner, with: {X: '{N}'}}]\n\
                   parameters: {N: {description: d}}";
    let project = Project::new(&[("inner", inner), ("outer", outer), ("missing", missing)]);
    let text = project
        .text("outer", json!({"LIST": ["p", "q"], "MORE": "$x"}))
        .await;
    // 133, 134
    assert_eq!(text, "[5] [p q] it's $x\n0 [5] [p q] it's $x\n[1] []\n4\n");
    // The inner tool gets only the values of `with`.
    let text = project.text("missing", json!({"N": "5"})).await;
    assert_eq!(text, "Step 'a' failed: Parameter 'N' is required.");
}

#[tokio::test]
async fn an_alias_is_its_base_with_other_defaults() {
    // 128–131
    let base = "bash: echo {A} {B} {C}\nparameters:\n  A: {description: d, required: true}\n  \
                B: {description: d, default: base}\n  C: {description: d, default: c}";
    let alias = "type: alias\nbase-tool: base\ndefault-parameters: {A: alias, B: \"./{A}\"}";
    let project = Project::new(&[("base", base), ("short", alias)]);
    assert_eq!(project.text("short", json!({})).await, "alias ./alias c\n");
    let given = json!({"A": "x", "C": "y"});
    assert_eq!(project.text("short", given).await, "x ./x y\n");
}

// ---- rights (cycod 118–126) ----

#[tokio::test]
async fn permissions_are_held_against_the_hosts_own() {
    // 124
    let yaml = "bash: touch ran\nsecurity:\n  required-permissions:\n    \
                - \"filesystem:write:{X}\"\n    - \"network:external:api.example.org\"";
    let yaml = format!("{yaml}\n{PLAIN_X}");
    let open = Project::new(&[("t", &yaml)]);
    assert!(!open.outcome("t", json!({"X": "."})).await.is_error);
    let config = "permissions:\n  write: [ok]\n  net: [\"api.example.org:443\"]\n";
    let closed = Project::configured(&[("t", &yaml)], config);
    let (kind, text) = closed.error("t", json!({"X": "ok/../other"})).await;
    assert_eq!(kind, ErrorKind::Denied);
    assert_eq!(text, "Permission not granted: filesystem:write:ok/../other");
    assert!(!closed.path("ran").exists());
    assert!(!closed.outcome("t", json!({"X": "ok/below"})).await.is_error);
}

#[tokio::test]
async fn reduced_rights_cannot_come_back() {
    // 122
    let yaml = "bash: grep -E 'NoNewPrivs|CapEff' /proc/self/status | tr -s '\\t\\n' ' '\n\
                security: {execution-privilege: reduced}";
    let text = output(yaml, json!({})).await;
    assert!(text.contains("NoNewPrivs: 1"), "{text}");
    assert!(text.contains("CapEff: 0000000000000000"), "{text}");
    let without = format!("{yaml}\nenvironment: {{variables: {{PATH: /nowhere}}}}");
    let text = failure(&without, json!({})).await;
    let start = "`execution-privilege: reduced` needs the program setpriv";
    assert!(text.starts_with(start), "{text}");
}

#[tokio::test]
async fn elevated_rights_are_always_asked_for() {
    // 122, also behind a wrapper (126), also where everything is allowed
    let elevated = "bash: touch ran\nsecurity: {execution-privilege: elevated}\ntags: [read]";
    let wrapper = "tags: [read]\nsteps: [{name: a, use-tool: t}]";
    let project = Project::new(&[("t", elevated), ("wrapper", wrapper)]);
    for tool in ["t", "wrapper"] {
        let (kind, text) = project.error(tool, json!({})).await;
        assert_eq!(kind, ErrorKind::Denied);
        assert!(text.contains("requires approval"), "{text}");
    }
    assert!(!project.path("ran").exists());
}
