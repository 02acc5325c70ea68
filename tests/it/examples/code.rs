use haft::code::{self, CodeRun};
use haft::{CustomTool, HostBuilder, Invocation, Tier};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, schemars::JsonSchema)]
struct Square {
    n: i64,
}

/// `builder` is `Host::builder()`.
pub async fn run(builder: HostBuilder) -> Result<(), haft::Error> {
    let square = CustomTool::new(
        "square",
        "Squares a number",
        async |Square { n }: Square, _call: Invocation| Ok::<_, String>((n * n).to_string()),
    );
    let host = builder.tool(square.approval(Tier::Read)).build()?;

    let script = "
        const squares = await Promise.all([1, 2, 3].map((n) => tools.square({ n })));
        squares.map(Number).reduce((sum, square) => sum + square, args.start)
    ";
    let running = code::run(&host, CodeRun::new(script).args(json!({"start": 100})));
    let outcome = running.outcome().await?;
    assert_eq!(outcome.text(), "114");
    assert_eq!(outcome.details["value"], 114);
    host.shutdown().await;
    Ok(())
}
