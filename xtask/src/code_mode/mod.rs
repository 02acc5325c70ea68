//! `cargo xtask code-mode`: what code mode saves, and what it costs.
//!
//! A real `haft serve mcp` serves generated tools, once as a list and once in code mode. Twelve tasks
//! are done in both ways by fixed calls: no model takes part. Counted are the tokens that enter the
//! context: the definitions of the tools, each call, and each result. The tokenizer is `o200k_base`.

mod client;
mod tasks;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};
use tiktoken_rs::CoreBPE;

use crate::error::{Error, Result};
use crate::workspace;
use client::Client;
use tasks::{TASKS, Task};

/// Numbers of tools that are compared.
const TOOLS: [usize; 3] = [10, 100, 1000];

/// Count the tokens of twelve tasks with a list of tools and with code mode, and measure runs
#[derive(Args)]
pub struct CodeMode {
    /// Use this program instead of the release build of the checkout.
    #[arg(long, value_name = "PATH")]
    haft: Option<PathBuf>,

    /// Number of measured runs.
    #[arg(long, default_value_t = 200)]
    runs: u32,
}

impl CodeMode {
    pub fn run(self) -> Result<()> {
        let root = workspace::root();
        let target = workspace::target_dir(&root)?;
        let haft = workspace::program(self.haft.as_deref(), || Ok(target.join("release/haft")))?;
        let tokens = tiktoken_rs::o200k_base()
            .map_err(|error| Error::unexpected(format!("the tokenizer: {error}")))?;
        println!("{}", costs(&haft, &tokens)?);
        println!("{}", times(&haft, self.runs)?);
        Ok(())
    }
}

/// Returns the table of the tokens.
fn costs(haft: &std::path::Path, tokens: &CoreBPE) -> Result<String> {
    let mut table = String::from(
        "| tools | definitions, list | definitions, code mode | twelve tasks, list | twelve tasks, code mode |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    let mut by_task = String::from("| task | list | code mode |\n| --- | --- | --- |\n");
    for count in TOOLS {
        let mut list = Client::start(haft, count, &[])?;
        let mut code = Client::start(haft, count, &["--code=only"])?;
        let of_list = definitions(&list.tools()?, tokens);
        let of_code = definitions(&code.tools()?, tokens);
        let (mut all_list, mut all_code) = (0, 0);
        for task in TASKS {
            let by_list = steps(&mut list, task, tokens)?;
            let by_code = script(&mut code, task, count, tokens)?;
            if count == TOOLS[1] {
                let _ = writeln!(by_task, "| {} | {by_list} | {by_code} |", task.title);
            }
            all_list += by_list;
            all_code += by_code;
        }
        let _ = writeln!(
            table,
            "| {count} | {of_list} | {of_code} | {all_list} | {all_code} |"
        );
    }
    Ok(format!(
        "{table}\nCalls and results of each task, with {} tools:\n\n{by_task}",
        TOOLS[1]
    ))
}

/// Counts the definitions as providers send them to models.
fn definitions(tools: &[Value], tokens: &CoreBPE) -> usize {
    let sent = tools.iter().map(|tool| {
        json!({
            "name": tool["name"],
            "description": tool["description"],
            "input_schema": tool["inputSchema"],
        })
    });
    let sent: Vec<Value> = sent.collect();
    count(&json!(sent).to_string(), tokens)
}

/// Does the task call by call, and counts calls and results.
fn steps(client: &mut Client, task: &Task, tokens: &CoreBPE) -> Result<usize> {
    let mut used = 0;
    for (tool, arguments) in (task.calls)() {
        used += count(
            &json!({"name": tool, "arguments": arguments}).to_string(),
            tokens,
        );
        used += count(&client.call(tool, &arguments)?, tokens);
    }
    Ok(used)
}

/// Does the task by a script. Where the declarations are not in the description of `run_code`, the
/// model has to search first.
fn script(client: &mut Client, task: &Task, tools: usize, tokens: &CoreBPE) -> Result<usize> {
    let mut used = 0;
    if tools > TOOLS[0] {
        let search = json!({"query": task.words, "limit": 4});
        used += count(
            &json!({"name": "search_tools", "arguments": search}).to_string(),
            tokens,
        );
        used += count(&client.call("search_tools", &search)?, tokens);
    }
    let code = json!({"code": task.script});
    used += count(
        &json!({"name": "run_code", "arguments": code}).to_string(),
        tokens,
    );
    let answer = client.call("run_code", &code)?;
    if answer != task.answer {
        let text = format!(
            "{}: the script gave {answer}, not {}",
            task.title, task.answer
        );
        return Err(Error::unexpected(text));
    }
    Ok(used + count(&answer, tokens))
}

fn count(text: &str, tokens: &CoreBPE) -> usize {
    tokens.encode_ordinary(text).len()
}

/// Returns the table of the times.
fn times(haft: &std::path::Path, runs: u32) -> Result<String> {
    let mut client = Client::start(haft, TOOLS[0], &["--code"])?;
    client.tools()?;
    let one = |client: &mut Client, code: &str| -> Result<Duration> {
        let started = Instant::now();
        client.call("run_code", &json!({"code": code}))?;
        Ok(started.elapsed())
    };
    // The tool's module is loaded first.
    client.call("status", &json!({}))?;
    let cold = one(&mut client, "1")?;
    let mut empty = Vec::new();
    let mut direct = Vec::new();
    for _ in 0..runs {
        empty.push(one(&mut client, "1")?);
        let started = Instant::now();
        client.call("status", &json!({}))?;
        direct.push(started.elapsed());
    }
    let loops = "const start = Date.now(); for (let n = 0; n < 250; n++) await tools.status(); \
                 (Date.now() - start) * 1000 / 250";
    let parallel = "const start = Date.now(); await Promise.all(Array.from({ length: 1000 }, () => tools.status())); \
                    Date.now() - start";
    let inside = median_of(&mut client, loops, 9)?;
    let mut many = Client::start(haft, TOOLS[0], &["--code"])?;
    many.call("status", &json!({}))?;
    let parallel = median_of(&mut many, parallel, 5)?;
    let mut table = String::from("| what | median |\n| --- | --- |\n");
    let _ = writeln!(table, "| the first run of a process | {:.2} ms |", ms(cold));
    let _ = writeln!(
        table,
        "| an empty run over MCP | {:.2} ms |",
        ms(median(&mut empty))
    );
    let _ = writeln!(
        table,
        "| a direct call of a small tool over MCP | {:.0} µs |",
        ms(median(&mut direct)) * 1000.0
    );
    let _ = writeln!(
        table,
        "| a call of it from inside a script | {inside:.0} µs |"
    );
    let _ = writeln!(
        table,
        "| 1,000 calls at once from inside | {parallel:.0} ms |"
    );
    Ok(table)
}

fn median_of(client: &mut Client, code: &str, runs: usize) -> Result<f64> {
    let mut values = Vec::new();
    for _ in 0..runs {
        let text = client.call("run_code", &json!({"code": code}))?;
        let value: f64 = text
            .parse()
            .map_err(|_| Error::unexpected(format!("a time is not a number: {text}")))?;
        values.push(value);
    }
    values.sort_by(f64::total_cmp);
    Ok(values[values.len() / 2])
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
