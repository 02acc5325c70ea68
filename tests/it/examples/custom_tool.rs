use haft::{Call, CustomTool, HostBuilder, Tier};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// Name to greet.
    name: String,
}

/// `builder` is `Host::builder()`.
pub async fn run(builder: HostBuilder) -> Result<(), haft::Error> {
    let greet = CustomTool::new("greet", "Greets someone", async |asked: Greeting, _| {
        Ok::<_, String>(format!("Hello {}!", asked.name))
    });
    let host = builder.tool(greet.approval(Tier::Read)).build()?;

    let outcome = host
        .call(Call::new("greet", json!({"name": "Ada"})), None)
        .outcome()
        .await?;
    assert_eq!(outcome.text(), "Hello Ada!");

    // What does not fit the type never reaches the closure.
    let refused = host
        .call(Call::new("greet", json!({})), None)
        .outcome()
        .await;
    assert_eq!(
        refused.expect_err("a problem").kind(),
        haft::ErrorKind::BadArguments
    );
    host.shutdown().await;
    Ok(())
}
