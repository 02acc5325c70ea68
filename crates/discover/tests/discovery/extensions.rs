//! The extensions that settings files name (omp.md 1.1).

use haft_discover::Verdict;
use haft_tool::Level;

use super::World;

#[test]
fn the_first_settings_file_with_the_key_wins() {
    let world = World::with(&["p/one/tools/one.ts", "home/two/tools/two.ts"]);
    world.write(
        "home/.omp/agent/settings.json",
        r#"{"extensions":["~/two"]}"#,
    );
    assert_eq!(world.found(), ["omp-plugins home/two/tools/two.ts"]);
    world.write("p/.omp/config.yml", "theme: dark\n");
    assert_eq!(world.found(), ["omp-plugins home/two/tools/two.ts"]);
    world.write("p/.omp/settings.json", r#"{"extensions":["./one"]}"#);
    assert_eq!(world.found(), ["omp-plugins p/one/tools/one.ts"]);
    world.write("p/.omp/config.yml", "extensions: []\n");
    assert_eq!(world.found(), Vec::<String>::new());
}

#[test]
fn a_relative_extension_of_the_user_is_code_of_the_project() {
    let world = World::with(&["p/one/tools/one.ts", "home/two/tools/two.ts"]);
    world.write(
        "home/.omp/agent/config.yml",
        "extensions: [one, ~/two, gone]\n",
    );
    let scan = world.scan();
    let levels: Vec<Level> = scan.candidates.iter().map(|c| c.source.level).collect();
    assert_eq!(levels, [Level::Project, Level::User]);
    assert_eq!(world.verdict("p/gone"), Verdict::Missing);
}
