//! Tests of a tool as runners. They go through the same gate as calls: a caller that may not call a
//! tool may not test it either (spec cycod 127).

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde_json::json;

use super::super::definition::{Platform, TestCase};
use super::super::resolve::{ResolvedTool, ToolSet};
use super::host_env::HostEnv;
use super::self_test::{Verdict, test_tool};
use super::{never_started, reason, stopped};
use haft_tool::Error;
use haft_tool::{Approval, ApprovalRequirement, Call, CallCtx, Outcome, Progress, Runner, Test};

/// Returns the tests of a tool.
pub(super) fn tests(
    tool: &Arc<ResolvedTool>,
    tool_set: &Arc<ToolSet>,
    host_env: &HostEnv,
    stance: &ApprovalRequirement,
) -> Vec<Test> {
    let cases = tool.definition.tests.iter();
    let test = |case: &TestCase| Test {
        name: case.name.clone(),
        description: case.description.clone(),
        skipped: skipped(case),
        runner: Arc::new(TestRunner {
            tool: tool.clone(),
            tool_set: tool_set.clone(),
            host_env: host_env.clone(),
            stance: stance.clone(),
            case: case.clone(),
        }),
    };
    cases.map(test).collect()
}

/// Returns the reason why a test is not for this platform; `None` if it is.
fn skipped(case: &TestCase) -> Option<String> {
    let is_here = case.platforms.is_empty() || case.platforms.contains(&Platform::current());
    (!is_here).then(|| {
        let names: Vec<&str> = case.platforms.iter().map(|own| own.as_str()).collect();
        format!("only on {}", names.join(", "))
    })
}

struct TestRunner {
    tool: Arc<ResolvedTool>,
    tool_set: Arc<ToolSet>,
    host_env: HostEnv,
    stance: ApprovalRequirement,
    case: TestCase,
}

#[async_trait]
impl Runner for TestRunner {
    async fn check(&self, _call: &Call) -> Result<(), Error> {
        Ok(())
    }

    fn approval(&self) -> Approval<'_> {
        Approval::Fixed(&self.stance)
    }

    async fn run(&self, _call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        if let Some(never) = never_started(&ctx, &self.stance).await? {
            return Ok(never);
        }
        let started = Instant::now();
        ctx.updates.send(Progress::Started);
        let trial = test_tool(
            &self.tool,
            &self.case,
            &self.tool_set,
            &self.host_env,
            ctx.cancel(),
        )
        .await;
        let duration = started.elapsed();
        if ctx.is_cancelled() {
            let why = ctx.stop_reason();
            return Ok(stopped(why, reason(why).to_owned(), duration));
        }
        let problems = match trial.verdict {
            Verdict::Passed | Verdict::Skipped => Vec::new(),
            Verdict::Failed(problems) => problems,
        };
        Ok(Outcome {
            details: json!({ "output": trial.output, "notes": trial.notes }),
            is_error: !problems.is_empty(),
            ..Outcome::failure(problems.join("\n"), duration)
        })
    }
}
