use std::time::Duration;

use haft::call::Stopped;
use haft::{Call, CustomTool, Event, HostBuilder, Invocation, Tier};
use serde_json::json;

/// `builder` is `Host::builder()`.
pub async fn run(builder: HostBuilder) -> Result<(), haft::Error> {
    let count = CustomTool::new(
        "count",
        "Counts until it is stopped",
        async |(): (), call: Invocation| {
            call.update("one");
            call.cancelled().await;
            Ok::<_, String>("enough")
        },
    );
    let host = builder.tool(count.approval(Tier::Read)).build()?;

    // Events as they happen; the last one has the outcome.
    let mut running = host.call(Call::new("count", json!({})), Some(Duration::from_secs(60)));
    let outcome = loop {
        match running.next_event().await {
            Event::Started => {}
            Event::Update(partial) => {
                assert!(partial.get().contains("one"));
                running.cancellation().cancel();
            }
            Event::Finished(outcome) => break outcome?,
        }
    };
    assert_eq!(outcome.text(), "enough");
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    host.shutdown().await;
    Ok(())
}
