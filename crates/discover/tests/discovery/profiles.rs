//! Profiles, the choice of one for each tool, and the rights that result.

use haft_config::{Config, Permission, ToolPlace};
use haft_tool::{Family, Isolation, PermissionKind, ToolRights, TrustDomain};

use super::World;

const USERS: &str = "home/.config/haft/config.yaml";

fn place(domain: TrustDomain, family: Family, name: &str) -> ToolPlace<'_> {
    ToolPlace {
        domain,
        family,
        name,
    }
}

fn of_project(config: &Config) -> ToolRights {
    config
        .rights()
        .rights_of(&place(TrustDomain::Project, Family::Shell, "x"))
}

fn of_user(config: &Config) -> ToolRights {
    config
        .rights()
        .rights_of(&place(TrustDomain::User, Family::Shell, "x"))
}

fn list(entries: &[&str]) -> Permission {
    Permission::List(entries.iter().map(|entry| (*entry).to_owned()).collect())
}

/// The name of the profile for a place.
fn profile(config: &Config, domain: TrustDomain, family: Family, name: &str) -> String {
    config
        .rights()
        .profile_of(&place(domain, family, name))
        .source
        .name
}

#[test]
fn tools_have_the_permissions_and_no_isolation_by_default_and_those_of_a_project_a_sandbox() {
    let world = World::new();
    world.write(USERS, "permissions: {write: [out], ffi: all}\n");
    let config = world.config();
    let rights = of_project(&config);
    assert_eq!(rights.isolation, Isolation::Sandbox);
    assert_eq!(rights.permissions.net, Permission::None);
    let out = world.path("p/out").display().to_string();
    assert_eq!(rights.permissions.write, list(&[&out, "$TMPDIR"]));
    for domain in [TrustDomain::User, TrustDomain::Plugins] {
        let rights = config.rights().rights_of(&place(domain, Family::Js, "x"));
        assert_eq!(rights.isolation, Isolation::Process);
        assert_eq!(*rights.permissions, config.permissions);
    }
    assert_eq!(
        *of_user(&World::new().config()).permissions,
        Default::default()
    );
}

#[test]
fn the_built_in_profiles_grant_the_project_and_a_private_folder() {
    let world = World::new();
    world.write(USERS, "sandbox: {project: workspace, user: read-only}\n");
    let config = world.config();
    let project = world.path("p").display().to_string();

    let rights = of_project(&config);
    assert_eq!(rights.isolation, Isolation::Sandbox);
    let permissions = rights.permissions;
    assert_eq!(permissions.read, list(&[&project, "$TMPDIR"]));
    assert_eq!(permissions.write, list(&[&project, "$TMPDIR"]));
    assert_eq!(
        (&permissions.net, &permissions.run, &permissions.ffi),
        (&Permission::None, &Permission::All, &Permission::None)
    );
    for (name, is_shown) in [("PATH", true), ("LC_TIME", true), ("GITHUB_TOKEN", false)] {
        assert_eq!(
            permissions.grants(PermissionKind::Env, name),
            is_shown,
            "{name}"
        );
    }

    let rights = of_user(&config);
    assert_eq!(rights.isolation, Isolation::Sandbox);
    assert_eq!(rights.permissions.read, list(&[&project, "$TMPDIR"]));
    assert_eq!(rights.permissions.write, list(&["$TMPDIR"]));
}

#[test]
fn names_precede_families_and_families_domains() {
    let world = World::new();
    world.write(
        USERS,
        "profiles: {a: {}, b: {}, c: {}, d: {}, e: {}}\n\
         sandbox:\n  project: a\n  plugins: b\n  families: {exec: c}\n\
         \x20 tools: {'git_*': d, git_log: e, 'deploy*': workspace}\n",
    );
    let config = world.config();
    use Family::{Ikigai, Js, Kodelet, Native, Shell};
    use TrustDomain::{Plugins, Project, User};
    for (domain, family, name, expected) in [
        (Project, Shell, "x", "a"),
        (Plugins, Js, "x", "b"),
        (User, Shell, "x", "full"),
        (Project, Native, "x", "a"),
        (Project, Kodelet, "x", "c"),
        (User, Ikigai, "x", "c"),
        (User, Ikigai, "git_status", "d"),
        (User, Ikigai, "git_log", "e"),
        (User, Js, "deploy_it", "workspace"),
    ] {
        assert_eq!(profile(&config, domain, family, name), expected, "{name}");
    }
}

/// The author of a project chooses the names of its tools.
#[test]
fn a_name_gives_nothing_to_the_tools_of_others() {
    let world = World::new();
    world.write(
        USERS,
        "sandbox: {project: workspace, tools: {deploy: full, look: read-only}}\n",
    );
    let config = world.config();
    let of = |domain, name| {
        config
            .rights()
            .rights_of(&place(domain, Family::Kodelet, name))
    };
    assert_eq!(
        of(TrustDomain::User, "deploy").isolation,
        Isolation::Process
    );
    let deploy = of(TrustDomain::Project, "deploy");
    assert_eq!(deploy.isolation, Isolation::Sandbox);
    assert_eq!(deploy.permissions.net, Permission::None);
    let look = of(TrustDomain::Project, "look");
    assert_eq!(look.permissions.write, list(&["$TMPDIR"]));
}

#[test]
fn a_profile_extends_another_and_its_own_keys_count() {
    let mut world = World::new();
    world.write(
        USERS,
        "isolation: process\n\
         profiles:\n\
         \x20 registry: {extends: workspace, net: [registry.npmjs.org], env: [PATH, 'NPM_*']}\n\
         \x20 local: {extends: registry, isolation: process, write: [., ~/.cache/x, $TMPDIR/y]}\n\
         \x20 plain: {run: [git]}\n\
         \x20 native: {ffi: [~/lib]}\n\
         sandbox: {project: registry, user: local, tools: {p: plain, n: native}}\n",
    );
    world.env.tmpdir = Some("/scratch".into());
    let config = world.config();
    let project = world.path("p").display().to_string();

    let rights = of_project(&config);
    assert_eq!(rights.isolation, Isolation::Sandbox);
    assert_eq!(rights.permissions.net, list(&["registry.npmjs.org"]));
    assert_eq!(rights.permissions.env, list(&["PATH", "NPM_*"]));
    assert_eq!(rights.permissions.write, list(&[&project, "$TMPDIR"]));

    // Without a sandbox there is no private folder.
    let rights = of_user(&config);
    assert_eq!(rights.isolation, Isolation::Process);
    assert_eq!(rights.permissions.read, list(&[&project, "/scratch"]));
    let cache = world.path("home/.cache/x").display().to_string();
    assert_eq!(
        rights.permissions.write,
        list(&[&project, &cache, "/scratch/y"])
    );

    let plain = config
        .rights()
        .rights_of(&place(TrustDomain::User, Family::Js, "p"));
    assert_eq!(plain.isolation, Isolation::Process);
    assert_eq!(plain.permissions.run, list(&["git"]));
    assert_eq!(plain.permissions.ffi, Permission::None);
    let native = config
        .rights()
        .rights_of(&place(TrustDomain::User, Family::Js, "n"));
    let lib = world.path("home/lib").display().to_string();
    assert_eq!(native.permissions.ffi, list(&[&lib]));
}

#[test]
fn permissions_narrow_every_profile_and_keep_the_private_folder() {
    let world = World::new();
    world.write(
        USERS,
        "permissions: {write: [p/out, /elsewhere], net: [a.example], ffi: none}\n\
         profiles: {net: {extends: workspace, net: [a.example, b.example], ffi: all}}\n\
         sandbox: {project: net}\n",
    );
    world.write("p/p/out/x", "");
    let permissions = of_project(&world.config()).permissions;
    let out = world.path("p/p/out").display().to_string();
    assert_eq!(permissions.write, list(&[&out, "$TMPDIR"]));
    assert_eq!(permissions.net, list(&["a.example"]));
    assert_eq!(permissions.ffi, Permission::None, "the user said so");
}

#[test]
fn a_project_only_narrows_its_own_tools() {
    let mut world = World::new();
    world.write(USERS, "sandbox: {project: workspace}\n");
    world.write("p/.haft/config.yaml", "sandbox:\n  project: read-only\n");
    world.flags.trust_project = true;
    let config = world.config();
    let rights = of_project(&config);
    assert_eq!(rights.isolation, Isolation::Sandbox);
    assert_eq!(rights.permissions.write, list(&["$TMPDIR"]));
    assert_eq!(of_user(&config).isolation, Isolation::Process);

    // What it asks for beyond the user's profile has no effect.
    world.write(USERS, "sandbox: {project: read-only}\n");
    world.write(
        "p/.haft/config.yaml",
        "isolation: process\nsandbox: {project: full}\n",
    );
    let rights = of_project(&world.config());
    assert_eq!(rights.isolation, Isolation::Sandbox);
    assert_eq!(rights.permissions.write, list(&["$TMPDIR"]));

    world.write(USERS, "isolation: process\nsandbox: {project: full}\n");
    world.write("p/.haft/config.yaml", "isolation: sandbox\n");
    let config = world.config();
    assert_eq!(of_project(&config).isolation, Isolation::Sandbox);
    assert_eq!(of_user(&config).isolation, Isolation::Process);

    for (text, expected) in [
        (
            "profiles: {x: {}}\n",
            "1:1: `profiles` cannot stand in a project's file",
        ),
        (
            "sandbox: {user: full}\n",
            "1:11: `sandbox.user` cannot stand in a project's file",
        ),
        (
            "# a line\nsandbox:\n  project: read_only\n",
            "3: unknown profile `read_only`",
        ),
    ] {
        world.write("p/.haft/config.yaml", text);
        let error = world.refusal();
        let expected = format!("{}:{expected}", world.path("p/.haft/config.yaml").display());
        assert_eq!(error.message(), expected);
    }
}

#[test]
fn the_variable_and_the_flag_set_the_isolation() {
    let mut world = World::new();
    world.write(USERS, "isolation: process\n");
    assert_eq!(of_user(&world.config()).isolation, Isolation::Process);
    world.env.haft.insert("ISOLATION".into(), "sandbox".into());
    assert_eq!(of_user(&world.config()).isolation, Isolation::Sandbox);
    world.flags.isolation = Some(Isolation::Process);
    assert_eq!(of_user(&world.config()).isolation, Isolation::Process);
}

/// A level that haft had once is named with what to write instead, wherever it stands.
#[test]
fn the_level_none_is_refused_with_a_hint() {
    let removed = "`none` was removed: every module runs in a worker process now; write `process`, \
                   the default";
    for text in [
        "isolation: none\n",
        "profiles: {own: {isolation: none}}\nsandbox: {user: own}\n",
    ] {
        let world = World::new();
        world.write(USERS, text);
        let message = world.refusal().message().to_owned();
        assert!(message.ends_with(removed), "{message}");
    }
    let mut world = World::new();
    world.env.haft.insert("ISOLATION".into(), "none".into());
    assert_eq!(
        world.refusal().message(),
        format!("HAFT_ISOLATION: {removed}")
    );
}

#[test]
fn mistakes_are_named_with_their_place() {
    let world = World::new();
    let file = world.path(USERS).display().to_string();
    for (text, message, hint) in [
        (
            "sandbox: {user: workspce}\n",
            "1: unknown profile `workspce`",
            "did you mean `workspace`?",
        ),
        (
            "profiles: {mine: {}}\nsandbox:\n  tools: {x: zzz}\n",
            "3: unknown profile `zzz`",
            "known here: full, workspace, read-only, mine",
        ),
        (
            "sandbox: {families: {excc: full}}\n",
            "1:22: unknown key `excc`",
            "did you mean `exec`?",
        ),
        (
            "profiles:\n  a: {extends: b}\n  b: {extends: a}\n",
            "2: profiles extend each other in a circle: `b` → `a` → `b`",
            "remove one `extends`",
        ),
        (
            "profiles: {workspace: {net: all}}\n",
            "1:12: the profile `workspace` is built in: give yours another name, with `extends: workspace`",
            "correct the line, or use another file with --config",
        ),
        (
            "profiles: {a: {isolation: jail}}\n",
            "1:27: `jail` is neither process nor sandbox",
            "correct the line, or use another file with --config",
        ),
        (
            "profiles: {a: {raed: all}}\n",
            "1:16: unknown key `raed`",
            "did you mean `read`?",
        ),
        (
            "profiles: {a: {write: ['src/*']}}\n",
            "1:16: `src/*`: a path has no patterns; name a folder, which includes all below it",
            "correct the line, or use another file with --config",
        ),
        (
            "permissions:\n  net: ['https://example.org/']\n",
            "2:3: `https://example.org/` is an address; name its host, as `example.org` or `example.org:443`",
            "correct the line, or use another file with --config",
        ),
        (
            "permissions: {net: ['a:b:c']}\n",
            "1:15: `a:b:c` is not a host: `example.org`, `*.example.org`, `127.0.0.1:8080`, `[::1]:80` or `10.0.0.0/8`",
            "correct the line, or use another file with --config",
        ),
        (
            "profiles: {a: {env: ['A*B']}}\n",
            "1:16: `A*B`: a pattern of variables has its `*` at the end, as `LC_*`",
            "correct the line, or use another file with --config",
        ),
        (
            "sandbox: {tools: {'[': full}}\n",
            "1:24: `[` is not a pattern of tool names: unclosed character class; missing ']'",
            "correct the line, or use another file with --config",
        ),
    ] {
        world.write(USERS, text);
        let error = world.refusal();
        assert_eq!(error.message(), format!("{file}:{message}"));
        assert_eq!(error.hint(), Some(hint), "{text}");
    }
}

#[test]
fn every_form_of_a_host_is_understood() {
    let world = World::new();
    world.write(
        USERS,
        "permissions:\n  net: [localhost, 'a.example:80', '*.b.example', '127.0.0.1:1', '::1', '[::1]:80', 10.0.0.0/8]\n",
    );
    assert!(world.config().permissions.net.is_bounded());
}

#[test]
fn a_refusal_names_the_profile_and_the_key_that_names_it() {
    let world = World::new();
    world.write(
        USERS,
        "permissions: {read: [/p, .]}\n\
         profiles: {mine: {extends: workspace}}\n\
         sandbox:\n  project: workspace\n  tools: {m: mine}\n",
    );
    let config = world.config();
    let project = world.path("p").display().to_string();
    let rights = of_project(&config);
    let refusal = rights.permissions.refusal(PermissionKind::Write, "/etc/x");
    assert_eq!(
        refusal,
        format!(
            "`write` access to `/etc/x` is not permitted: `write` is `[{project}, $TMPDIR]` in the \
             profile `workspace` (built in), which `sandbox.project` in \
             ~/.config/haft/config.yaml names\n\
             hint: `haft permit NAME --allow write=/etc/x` grants it to the tool NAME"
        )
    );
    let parts = rights.permissions.parts_of_refusal(&refusal);
    assert!(parts.is_some_and(|(_, hint)| hint.starts_with("`haft permit")));

    let of_mine = config
        .rights()
        .rights_of(&place(TrustDomain::User, Family::Js, "m"));
    assert_eq!(
        of_mine.permissions.reason(PermissionKind::Read),
        format!(
            "`read` is `[{project}, $TMPDIR]` by `permissions.read` in ~/.config/haft/config.yaml, \
             and in the profile `mine` of ~/.config/haft/config.yaml, which `sandbox.tools.m` in \
             ~/.config/haft/config.yaml names"
        )
    );
}

#[test]
fn a_wrong_name_that_a_program_sets_grants_nothing() {
    let mut config = World::new().config();
    config.sandbox.user = Some("missing".to_owned());
    let rights = of_user(&config);
    assert_eq!(rights.isolation, Isolation::Sandbox);
    assert_eq!(rights.permissions.read, Permission::None);
    assert_eq!(rights.permissions.run, Permission::None);
}
