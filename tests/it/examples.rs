//! The examples of the documentation: each file is shown there as it is (`include_str!`), and run here.
//!
//! The documentation only compiles them (`no_run`), because each would link V8 once more.

mod call;
mod code;
mod custom_tool;
mod loader;
mod paths;
mod session;
mod user_interface;

use haft::config::Env;
use haft::{Host, HostBuilder};

use crate::sandbox::Sandbox;

const GREET: &str = "export default () => ({ name: 'greet', description: '', parameters: { type: 'object' }, execute() {} });";

fn builder(sandbox: &Sandbox) -> HostBuilder {
    let env = Env {
        current_dir: Some(sandbox.path()),
        home: Some(sandbox.path().join("home")),
        ..Env::default()
    };
    Host::builder().env(env)
}

#[tokio::test]
async fn the_examples_of_the_documentation_run() {
    let sandbox = Sandbox::with_home();
    sandbox.write("greet.ts", GREET);
    let new = || builder(&sandbox);
    custom_tool::run(new()).await.expect("a custom tool");
    call::run(new()).await.expect("a call");
    code::run(new()).await.expect("a script");
    user_interface::run(new()).await.expect("a user interface");
    session::run(new()).await.expect("a session");
    loader::run(new()).await.expect("the loader");
    sandbox.write(".omp/tools/found.ts", GREET);
    paths::run(new()).await.expect("the paths");
}
