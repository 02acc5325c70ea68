use std::sync::Arc;

use haft::ui::{Answer, Prompt, Question, UserInterface};
use haft::{Call, CustomTool, HostBuilder, Invocation, Tier};
use serde_json::json;

/// A user interface that agrees to everything.
struct Agreeable;

#[async_trait::async_trait]
impl UserInterface for Agreeable {
    async fn ask(&self, question: Question) -> Answer {
        match question.what {
            Prompt::Confirm { .. } => Answer::Yes,
            Prompt::Select { options, .. } => Answer::Text(options[0].clone()),
            _ => Answer::Dismissed,
        }
    }
}

/// `builder` is `Host::builder()`.
pub async fn run(builder: HostBuilder) -> Result<(), haft::Error> {
    let ask = CustomTool::new("ask", "Asks the user", async |(): (), call: Invocation| {
        let title = "Go on?".to_owned();
        let message = String::new();
        Ok::<_, String>(match call.ask(Prompt::Confirm { title, message }).await {
            Answer::Yes => "yes",
            _ => "no",
        })
    });
    let host = builder.tool(ask.approval(Tier::Read)).build()?;

    // Of two handles of one host each has its own user.
    let attended = host.with_ui(Arc::new(Agreeable));
    for (host, text) in [(&attended, "yes"), (&host, "no")] {
        let outcome = host
            .call(Call::new("ask", json!({})), None)
            .outcome()
            .await?;
        assert_eq!(outcome.text(), text);
    }
    host.shutdown().await;
    Ok(())
}
