//! YAML shell tools as files: dependencies of steps, tools that use tools, risk, and the view of a
//! model. Nothing is run here. Numbers are those of spec cycod.

use std::fs;
use std::path::Path;

use haft::{Host, Tier};
use serde_json::{Value, json};

use crate::cycod::{World, config, reports};
use crate::sandbox::Sandbox;

// J: steps.

/// 93: steps that wait for a missing step, for themselves, or in a circle.
#[tokio::test]
async fn steps_wait_for_other_steps() {
    reports(
        "steps:\n\
         - {name: a, bash: x, wait-for: [b, b]}\n\
         - {name: b, bash: x, wait-for: c}\n\
         - {name: c, bash: x, wait-for: [a]}\n\
         - {name: fetch, bash: x, wait-for: [fetch, fetsh, nothing]}\n",
        "t.yaml:3:3 error: circular dependency a -> b -> c -> a\n\
         t.yaml:6:3 error: Step 'fetch' waits for itself.\n\
         t.yaml:6:3 error: Step 'fetch' waits for unknown step 'fetsh'.\n\
         t.yaml:6:3 error: Step 'fetch' waits for unknown step 'nothing'.",
    )
    .await;
    // Waiting for a later step is allowed.
    reports(
        "steps:\n- {name: a, bash: x, wait-for: [b]}\n- {name: b, bash: x}\n",
        "t (exec)",
    )
    .await;
}

/// c11: a thousand steps in one chain.
#[tokio::test]
async fn a_thousand_steps_are_fine() {
    let steps: String = (0..1000)
        .map(|n| match n {
            0 => "- {name: s0, bash: x}\n".to_owned(),
            n => format!("- {{name: s{n}, bash: x, wait-for: [s{}]}}\n", n - 1),
        })
        .collect();
    reports(&format!("steps:\n{steps}"), "t (exec)").await;
}

/// 197–211: every invalid value of a step.
#[tokio::test]
async fn values_of_steps_are_checked() {
    reports(
        "steps:\n\
         - name: s\n  \
           bash: x\n  \
           parallel: perhaps\n  \
           run-condition: true\n  \
           timeout: 0\n  \
           error-handling: {retry: {attempts: -1, delay: -5}}\n  \
           output: {mode: loud, buffer-limit: 10XB, stream-callback: printer, truncation: 2}\n",
        "t.yaml:5:13 error: `parallel` must be `true` or `false`, not `perhaps`\n\
         t.yaml:7:12 error: `timeout` must be a whole number of milliseconds above 0, not `0`\n\
         t.yaml:8:38 error: `attempts` must be a whole number from 0, not `-1`\n\
         t.yaml:8:49 error: `delay` must be a whole number of milliseconds, not `-5`\n\
         t.yaml:9:18 error: `mode` must be one of: buffer, stream; not `loud`\n\
         t.yaml:9:38 error: `buffer-limit` must be a size such as `512MB`, not `10XB`\n\
         t.yaml:9:61 error: `stream-callback` must be one of: console, file, function; not `printer`\n\
         t.yaml:9:82 error: `truncation` must be `true` or `false`, not `2`",
    )
    .await;
}

/// 122, 123, 200, 234–273, c20: every other invalid value.
#[tokio::test]
async fn values_of_tools_are_checked() {
    reports(
        "bash: echo\n\
         security: {execution-privilege: root, isolation: jail}\n\
         environment: {variables: {A=B: 1, 'C D': 2, OK: 3}, inherit: 7}\n\
         resources: {timeout: 1.5, max-memory: lots, cleanup: [{delete-temp-files: true, burn: 1}]}\n\
         interactive-options: {timeout: -1}\n\
         tests: [{description: x, expected: {exit-code: none}}]\n\
         tags: {read: true}\n",
        "t.yaml:3:33 error: `execution-privilege` must be one of: same-as-user, reduced, elevated; not `root`\n\
         t.yaml:3:50 error: `isolation` must be one of: none, process, container; not `jail`\n\
         t.yaml:4:27 error: `A=B` cannot be the name of a variable\n\
         t.yaml:4:35 error: `C D` cannot be the name of a variable\n\
         t.yaml:4:62 error: `inherit` must be `true` or `false`, not `7`\n\
         t.yaml:5:22 error: `timeout` must be a whole number of milliseconds above 0, not `1.5`\n\
         t.yaml:5:39 error: `max-memory` must be a size such as `512MB`, not `lots`\n\
         t.yaml:5:81 warning: unknown key `burn` is ignored\n\
         t.yaml:6:32 error: `timeout` must be a whole number of milliseconds above 0, not `-1`\n\
         t.yaml:7:9 error: All tests must have a name.\n\
         t.yaml:7:48 error: `exit-code` must be a whole number, not `none`\n\
         t.yaml:8:7 error: `tags` must be a list of texts, not a mapping",
    )
    .await;
}

// M, N, O: risk, aliases, composition.

/// 118, 119: of several security tags the highest counts; none, or none in lower case, is the
/// highest risk.
#[tokio::test]
async fn tags_are_tiers() {
    for (tags, tier) in [
        ("[read]", Tier::Read),
        ("[git, read, write]", Tier::Write),
        ("[read, run]", Tier::Exec),
        ("[Read]", Tier::Exec),
        ("[git]", Tier::Exec),
        ("read", Tier::Read),
    ] {
        let world = World::tool(&format!("bash: echo\ntags: {tags}\n"));
        assert_eq!(world.found("t").await.approval, tier, "{tags}");
    }
    let world = World::tool("bash: echo\nmetadata: {tags: [read]}\n");
    assert_eq!(world.found("t").await.approval, Tier::Exec);
}

/// 126, c16: neither an alias nor a wrapper makes what it uses harmless.
#[tokio::test]
async fn wrappers_are_as_risky_as_what_they_wrap() {
    let world = World::new(&[
        ("base.yaml", "description: d\nbash: rm\ntags: [run]\n"),
        ("bare.yaml", "description: d\nbash: rm\n"),
        (
            "alias.yaml",
            "description: d\ntype: alias\nbase-tool: base\ntags: [read, mine]\n",
        ),
        (
            "bares.yaml",
            "description: d\ntype: alias\nbase-tool: bare\ntags: [read]\n",
        ),
        (
            "wrap.yaml",
            "description: d\nsteps:\n- {name: s, use-tool: alias}\ntags: [read]\n",
        ),
    ]);
    assert_eq!(
        world.report().await,
        "alias (exec)\nbare (exec)\nbares (exec)\nbase (exec)\nwrap (exec)"
    );
}

/// 128–131: an alias is its base with its own name, description and defaults.
#[tokio::test]
async fn an_alias_is_its_base_with_defaults() {
    let world = World::new(&[
        (
            "base.yaml",
            "description: b\nbash: echo\ntags: [write]\nparameters:\n  \
             A: {description: a, required: true}\n  \
             B: {description: b, required: true}\n  \
             C: {description: c, type: number, default: 1}\n",
        ),
        (
            "t.yaml",
            "description: mine\ntype: alias\nbase-tool: base\ndefault-parameters:\n  A: x\n  C: \"2\"\n  Z: 1\ntimeout: 5\n",
        ),
    ]);
    assert_eq!(
        world.report().await,
        "base (write)\n\
         t (write)\n\
         t.yaml:8:1 warning: `timeout` is ignored: an alias has its base's\n\
         t.yaml:3:12 warning: `default-parameters` names 'Z', which 'base' does not have; it is ignored"
    );
    let tool = world.found("t").await;
    assert_eq!(tool.description, "mine");
    assert_eq!(
        tool.input_schema,
        json!({
            "type": "object",
            "properties": {
                "A": { "type": "string", "description": "a", "default": "x" },
                "B": { "type": "string", "description": "b" },
                "C": { "type": "number", "description": "c", "default": 2 },
            },
            "required": ["B"],
        })
    );
    assert_eq!(world.refusal("{}").await, "Parameter 'B' is required.");
}

/// 128, 132, 135: unknown tools and circles, of aliases and of steps.
#[tokio::test]
async fn tools_that_use_tools() {
    let world = World::new(&[
        ("a.yaml", "description: d\ntype: alias\nbase-tool: b\n"),
        (
            "b.yaml",
            "description: d\nsteps:\n- {name: s, use-tool: c}\n- {name: u, use-tool: clnoe}\n",
        ),
        ("c.yaml", "description: d\ntype: alias\nbase-tool: a\n"),
        ("clone.yaml", "description: d\nbash: git\n"),
        (
            "self.yaml",
            "description: d\nsteps:\n- {name: s, use-tool: self}\n",
        ),
        ("two.yaml", "description: d\ntype: alias\nbase-tool: one\n"),
        (
            "one.yaml",
            "description: d\ntype: alias\nbase-tool: clone\n",
        ),
    ]);
    assert_eq!(
        world.report().await,
        "clone (exec)\n\
         one (exec)\n\
         two (exec)\n\
         a.yaml:3:12 error: the alias stands for 'b', which cannot be used\n\
         b.yaml:3:23 error: step 's' uses 'c', which cannot be used\n\
         b.yaml:4:23 error: step 'u' uses 'clnoe', and there is no tool of that name\n\
         c.yaml:3:12 error: circular dependency a -> b -> c -> a\n\
         self.yaml:3:23 error: circular dependency self -> self"
    );
}

/// 135: the nesting of tools that use tools is limited.
#[tokio::test]
async fn chains_of_tools_have_an_end() {
    let sandbox = Sandbox::with_home();
    for n in 0..40 {
        let text = match n {
            39 => "description: d\nbash: echo\n".to_owned(),
            n => format!("description: d\ntype: alias\nbase-tool: t{:02}\n", n + 1),
        };
        sandbox.write(&format!(".cycod/tools/t{n:02}.yaml"), &text);
    }
    let catalog = Host::new(config(&sandbox.path(), true)).catalog().await;
    let too_deep = catalog.problems.iter();
    let too_deep = too_deep.filter(|problem| problem.message.contains("more than 32 tools"));
    assert_eq!(too_deep.count(), 1);
    assert!(catalog.find("t39").is_some());
}

// P: what a model sees.

/// 137, 138, 144: the specification's own example, to the letter.
#[tokio::test]
async fn the_schema_is_the_specifications() {
    let blocks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specs/shell/seed-blocks");
    let block = fs::read_to_string(blocks.join("line-0941.yaml")).expect("a fixture");
    let tool = World::new(&[("weather.yaml", &block)])
        .found("weather-lookup")
        .await;
    let shape = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    });
    let expected: Value = serde_json::from_str(
        r#"{
          "name": "weather-lookup",
          "description": "Get weather for a location",
          "parameters": {
            "type": "object",
            "properties": {
              "LOCATION": { "type": "string", "description": "City or airport code" },
              "FORMAT": { "type": "string", "description": "Output format", "default": "3" }
            },
            "required": ["LOCATION"]
          }
        }"#,
    )
    .expect("it is JSON");
    assert_eq!(shape, expected);
    assert_eq!(
        shape.to_string(),
        expected.to_string(),
        "the order counts, too"
    );
}

/// 139–142, 229–233: what `function-calling` changes.
#[tokio::test]
async fn the_schema_can_be_printed() {
    let tool = |options: &str| {
        World::tool(&format!(
            "bash: echo\nparameters:\n  \
             P: {{description: p, type: number, default: 2, examples: [3]}}\n  \
             W: {{description: w, validation: {{enum: [a, b, c]}}}}\n\
             function-calling: {{schema-generation: {{{options}}}}}\n"
        ))
    };
    let bare = tool("include-descriptions: false, include-defaults: false");
    assert_eq!(bare.property("P").await, json!({ "type": "number" }));
    let full = tool("example-generation: true, parameter-mapping: {number: integer}");
    assert_eq!(
        full.property("P").await,
        json!({ "type": "integer", "description": "p", "default": 2, "examples": [3] })
    );
    assert_eq!(full.property("W").await["examples"], json!(["a", "b"]));
    let odd = tool("parameter-mapping: {number: float}");
    assert_eq!(
        odd.property("P").await,
        json!({ "type": "string", "description": "p", "default": "2" })
    );
    let raw = tool("parameter-mapping: {number: float}, sanitize-schemas: false");
    assert_eq!(raw.property("P").await["type"], "float");
}

/// 142: the model does not see a secret as a default; 52: a computed default is described.
#[tokio::test]
async fn secrets_and_computed_defaults_stay_out() {
    let world = World::tool(
        "bash: echo\nparameters:\n  KEY: {description: k, default: hunter2}\n  \
         TOKEN: {description: t, default: hunter3}\n  DIR: {description: d, default: './{KEY}'}\n\
         environment: {variables: {API: '{TOKEN}'}, secrets: [KEY, API]}\n",
    );
    let schema = world.found("t").await.input_schema.to_string();
    assert!(!schema.contains("hunter"), "{schema}");
    assert_eq!(
        world.property("DIR").await,
        json!({ "type": "string", "description": "d (left out: ./{KEY})" })
    );
}

/// 143, c27: rules become keywords; lists have items; names are just names.
#[tokio::test]
async fn rules_become_keywords() {
    let world = World::parameters(
        "S: {description: s, validation: {minLength: 1, maxLength: 3, pattern: ^a}}\n\
         N: {description: s, type: number, validation: {minimum: 0.5, maximum: 9, multipleOf: 0.5}}\n\
         L: {description: s, type: array, validation: {minItems: 1, maxItems: 2, uniqueItems: true, enum: [a]}}\n\
         A: {description: s, type: array}\n\
         required: {description: \"a \\\"b\\\"\\n🦀\", required: true}\n",
    );
    assert_eq!(
        world.found("t").await.input_schema,
        json!({
            "type": "object",
            "properties": {
                "S": { "type": "string", "description": "s", "minLength": 1, "maxLength": 3, "pattern": "^a" },
                "N": { "type": "number", "description": "s", "minimum": 0.5, "maximum": 9, "multipleOf": 0.5 },
                "L": {
                    "type": "array", "description": "s", "minItems": 1, "maxItems": 2,
                    "uniqueItems": true, "items": { "enum": ["a"] },
                },
                "A": { "type": "array", "description": "s", "items": {} },
                "required": { "type": "string", "description": "a \"b\"\n🦀" },
            },
            "required": ["required"],
        })
    );
}
