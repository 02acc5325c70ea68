use haft::HostBuilder;

/// `builder` is `Host::builder()`; there is a `greet.ts`, and no `gone.ts`.
pub async fn run(builder: HostBuilder) -> Result<(), haft::Error> {
    let loaded = builder
        .built_in_tool_names(["bash"])
        .load_custom_tools_at(["greet.ts", "gone.ts"])
        .await?;
    assert_eq!(loaded.tools[0].tool.name, "greet");
    assert_eq!(loaded.errors[0].path.to_str(), Some("gone.ts"));
    loaded.host().shutdown().await;
    Ok(())
}
