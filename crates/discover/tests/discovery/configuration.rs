//! The configuration that steers discovery: its file, its layers, its mistakes.

use std::path::Path;
use std::time::Duration;

use haft_config::Permission;
use haft_process::StateDir;
use haft_tool::ErrorKind;
use haft_tool::Level;

use super::{A, World};

fn configured(text: &str) -> World {
    let world = World::new();
    world.write("home/.config/haft/config.yaml", text);
    world
}

/// ikigai 50: they write files and run commands, so only the user can switch them on.
#[test]
fn system_tools_are_off_unless_the_user_wants_them() {
    assert!(!World::new().config().system_tools);
    assert!(configured("system_tools: true\n").config().system_tools);

    let mut world = configured("system_tools: true\n");
    world.env.haft.insert("SYSTEM_TOOLS".into(), "no".into());
    assert!(!world.config().system_tools);
    world.flags.system_tools = true;
    assert!(world.config().system_tools);

    let mut world = World::new();
    world.write("p/.haft/config.yaml", "system_tools: true\n");
    assert!(!world.config().system_tools);
    world.flags.trust_project = true;
    let refusal = world.refusal();
    assert!(
        refusal
            .message()
            .contains("`system_tools` cannot stand in a project's file")
    );
    assert!(
        refusal
            .hint()
            .is_some_and(|hint| hint.contains("--system-tools"))
    );
}

#[test]
fn defaults_are_complete() {
    let config = World::new().config();
    assert_eq!(config.limits.call_timeout, None);
    assert_eq!(config.limits.load_timeout, Duration::from_secs(30));
    assert_eq!(config.limits.grace, Duration::from_secs(2));
    assert_eq!(config.limits.heap_mb, 512);
    assert_eq!(config.permissions.read, Permission::All);
    assert!(!config.trust_project);
    assert!(
        config
            .state_dir
            .to_string()
            .ends_with("home/.local/state/haft")
    );
    assert!(config.cache_dir.ends_with("home/.cache/haft"));
}

#[test]
fn every_key_of_the_file_is_understood() {
    let world = configured(
        "tools: [x.ts, ~/y.ts, /z.ts]\n\
         trust_project: true\n\
         rename: {native: other}\n\
         disabled_extensions: ['tool:a']\n\
         disabled_providers: [codex]\n\
         limits: {call_timeout: 1m30s, load_timeout: 500ms, grace: 1.5s, heap_mb: 256}\n\
         permissions: {read: all, write: none, net: [a.example, 'b.example:80'], env: true, run: false, sys: []}\n\
         custom_tools: {enabled: true, global_dir: ~/k, anything: [1, {a: b}]}\n",
    );
    let config = world.config();
    let own = world.path("home/.config/haft/x.ts").display().to_string();
    assert_eq!(
        config.configured_paths,
        [own.as_str(), "~/y.ts", "/z.ts"],
        "relative to the file"
    );
    assert!(config.trust_project);
    assert_eq!(config.rename["native"], "other");
    assert_eq!(config.limits.call_timeout, Some(Duration::from_secs(90)));
    assert_eq!(config.limits.load_timeout, Duration::from_millis(500));
    assert_eq!(config.limits.grace, Duration::from_millis(1500));
    assert_eq!(config.limits.heap_mb, 256);
    let permissions = config.permissions;
    assert_eq!(
        (permissions.read, permissions.write),
        (Permission::All, Permission::None)
    );
    assert_eq!(
        permissions.net,
        Permission::List(vec!["a.example".into(), "b.example:80".into()])
    );
    assert_eq!(
        (permissions.env, permissions.run),
        (Permission::All, Permission::None)
    );
    assert_eq!(
        (permissions.sys, permissions.ffi),
        (Permission::None, Permission::None)
    );
}

#[test]
fn layers_win_from_high_to_low() {
    let mut world = configured(
        "limits: {grace: 1s, heap_mb: 100, load_timeout: 1s, call_timeout: 1s}\ntools: [/user.ts]\n",
    );
    world.write(
        "p/.haft/config.yaml",
        "limits: {heap_mb: 200, load_timeout: 2s, call_timeout: 2s}\ntools: [own.ts]\n",
    );
    world.env.haft.insert("LOAD_TIMEOUT".into(), "3s".into());
    world.env.haft.insert("CALL_TIMEOUT".into(), "none".into());
    world.env.haft.insert("TOOLS".into(), "/env.ts".into());
    world.flags.tools = vec!["flag.ts".into()];
    assert_eq!(
        world.config().limits.heap_mb,
        100,
        "an untrusted project configures nothing"
    );
    world.flags.trust_project = true;
    let config = world.config();
    let own = world.path("p/own.ts").display().to_string();
    assert_eq!(
        config.configured_paths,
        ["flag.ts", "/env.ts", own.as_str(), "/user.ts"]
    );
    let limits = &config.limits;
    assert_eq!(
        (limits.grace, limits.heap_mb),
        (Duration::from_secs(1), 100),
        "a project widens nothing"
    );
    let of_project = config.limits_of(Level::Project);
    assert_eq!(
        (
            of_project.heap_mb,
            of_project.load_timeout,
            of_project.call_timeout
        ),
        (100, Duration::from_secs(2), Some(Duration::from_secs(2))),
        "and narrows its own"
    );
    assert_eq!(
        (limits.load_timeout, limits.call_timeout),
        (Duration::from_secs(3), None)
    );
    world.flags.call_timeout = Some(Duration::from_secs(9));
    assert_eq!(
        world.config().limits.call_timeout,
        Some(Duration::from_secs(9))
    );
}

#[test]
fn a_project_cannot_trust_itself() {
    let mut world = World::new();
    world.write("p/.haft/config.yaml", "trust_project: true\n");
    assert!(!world.config().trust_project);
    world.flags.trust_project = true;
    assert!(
        world
            .refusal()
            .message()
            .contains("`trust_project` cannot stand in a project's file")
    );
}

#[test]
fn mistakes_in_the_file_have_a_place_and_a_hint() {
    for (text, place, message, hint) in [
        ("tolls: []\n", "1:1", "unknown key `tolls`", "`tools`"),
        (
            "limits:\n  call_timout: 1s\n",
            "2:3",
            "unknown key `call_timout`",
            "`call_timeout`",
        ),
        (
            "limits:\n  qqq: 1s\n",
            "2:3",
            "unknown key `qqq`",
            "known here: call_timeout",
        ),
        (
            "limits:\n  grace: 5\n",
            "2:10",
            "`5` is not a duration",
            "correct",
        ),
        (
            "limits:\n  grace: 5 days\n",
            "2:10",
            "`5 days` is not a duration",
            "correct",
        ),
        (
            "permissions:\n  net: some\n",
            "2:3",
            "`all`, `none` or a list",
            "correct",
        ),
        ("tools: [a\nb: 1\n", "", "", "correct"),
        ("- a\n", "1:1", "", "correct"),
    ] {
        let error = configured(text).refusal();
        assert_eq!(error.kind(), ErrorKind::Usage);
        let shown = format!("{} / {:?}", error.message(), error.hint());
        assert!(
            error.message().contains(&format!("config.yaml:{place}")),
            "{text}: {shown}"
        );
        assert!(error.message().contains(message), "{text}: {shown}");
        assert!(
            error.hint().is_some_and(|found| found.contains(hint)),
            "{text}: {shown}"
        );
        assert!(!error.message().contains('\n'), "{shown}");
    }
}

#[test]
fn an_empty_file_is_an_empty_configuration() {
    for text in [
        "",
        "# nothing yet\n",
        "---\n",
        "limits:\n",
        "\u{feff}tools: []\n",
    ] {
        let config = configured(text).config();
        assert_eq!(config.limits.heap_mb, 512, "{text:?}");
    }
}

#[test]
fn files_and_folders_that_are_named_must_exist() {
    let mut world = World::with(&["p/file"]);
    world.flags.config = Some("gone.yaml".into());
    let error = world.refusal();
    let text = format!(
        "the configuration file {} does not exist",
        world.path("p/gone.yaml").display()
    );
    assert_eq!(error.message(), text);
    world.write("p/gone.yaml", "limits: {heap_mb: 64}\n");
    assert_eq!(world.config().limits.heap_mb, 64);
    world.flags.cwd = Some("nowhere".into());
    assert!(
        world
            .refusal()
            .message()
            .ends_with("nowhere: it does not exist")
    );
    world.flags.cwd = Some("file".into());
    assert!(world.refusal().message().ends_with("file: not a directory"));
}

#[test]
fn wrong_variables_are_named() {
    for (name, value) in [
        ("GRACE", "soon"),
        ("HEAP_MB", "lots"),
        ("TRUST_PROJECT", "maybe"),
        ("SYSTEM_TOOLS", "some"),
    ] {
        let mut world = World::new();
        world.env.haft.insert(name.into(), value.into());
        let error = world.refusal();
        assert!(
            error
                .message()
                .starts_with(&format!("HAFT_{name}: `{value}`")),
            "{error}"
        );
        assert!(error.hint().is_some());
    }
}

#[test]
fn no_home_and_odd_base_directories_do_no_harm() {
    let mut world = World::with(&[A]);
    world.env.xdg_config_home = Some("relative".into());
    world.env.xdg_state_home = Some(world.path("state"));
    assert_eq!(
        world.config().state_dir,
        StateDir::new(world.path("state/haft"))
    );
    assert_eq!(world.config().roots.config_home, world.path("home/.config"));
    world.env.home = None;
    assert_eq!(world.config().home, Path::new("/nonexistent"));
    assert_eq!(world.names(), ["a.ts"]);
    world.env.current_dir = None;
    assert!(
        world
            .refusal()
            .message()
            .contains("the current directory does not exist any more")
    );
}

#[test]
fn too_little_memory_is_refused() {
    let mut world = World::new();
    world.flags.heap_mb = Some(4);
    assert!(world.refusal().message().starts_with("heap_mb 4"));
}

#[test]
fn durations_as_people_write_them() {
    use haft_config::parse_duration;
    for (text, millis) in [
        ("30s", 30_000),
        ("500ms", 500),
        ("2m", 120_000),
        ("1m30s", 90_000),
        ("1h", 3_600_000),
        ("1.5s", 1500),
        ("0s", 0),
        ("0.1s", 100),
    ] {
        assert_eq!(
            parse_duration(text),
            Ok(Duration::from_millis(millis)),
            "{text}"
        );
    }
    for text in [
        "",
        "30",
        "s",
        "1x",
        "-1s",
        "1s2",
        "1..2s",
        "99999999999999999999999h",
        "1 s",
    ] {
        assert!(parse_duration(text).is_err(), "{text}");
    }
}
