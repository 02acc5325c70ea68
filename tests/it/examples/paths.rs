use haft::HostBuilder;

/// `builder` is `Host::builder()`; the project has `.omp/tools/found.ts`, and there is a `greet.ts`.
pub async fn run(builder: HostBuilder) -> Result<(), haft::Error> {
    let paths = builder
        .paths(["greet.ts"])
        .discover_custom_tool_paths()
        .await?;
    let found = paths.iter().map(|found| {
        let source = found.source.as_ref();
        (found.path.as_str(), source.map(|it| it.provider.as_str()))
    });
    let found: Vec<_> = found.collect();
    // Nothing of them has run, and the user need not trust the project to see them.
    assert!(found[0].0.ends_with(".omp/tools/found.ts") && found[0].1 == Some("native"));
    assert!(found[1].0.ends_with("greet.ts") && found[1].1 == Some("config"));
    Ok(())
}
