//! The container image: run as its user, with a server and its health check.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::super::Context;
use super::super::oci::{self, Store};
use super::{exercise, exists, put_tool};
use crate::command;
use crate::error::{During, Error, Result};
use crate::files;

const HOME: &str = "/home/haft";

pub fn check(context: &Context) -> Result<String> {
    let file = context.out.join(oci::name(context));
    exists(&file)?;
    let store = Store::new(context)?;
    let container = store.run(["from", &format!("docker-archive:{}", file.display())])?;
    let user = inspect(&store, &container, "{{.OCIv1.Config.User}}")?;
    let health = inspect(&store, &container, "{{.Docker.Config.Healthcheck}}")?;
    if user != format!("{0}:{0}", oci::USER) || !health.contains("open --check") {
        return Err(Error::unexpected(format!(
            "the image has the user `{user}` and the health check `{health}`"
        )));
    }
    let root = store.run(["mount", &container])?;
    put_tool(&std::path::Path::new(&root).join(HOME.trim_start_matches('/')))?;
    let start = |words: &[&str]| inside(&store, &container, words);
    exercise(context, HOME, start)?;
    serve(&start)?;
    store.run(["rm", &container])?;
    Ok(format!(
        "run as user {} from an image without a shell: version, list, two calls, server and health check; sha256 {}",
        oci::USER,
        &files::sha256(&file)?[..16]
    ))
}

fn inspect(store: &Store, container: &str, what: &str) -> Result<String> {
    store.run(["inspect", "--format", what, container])
}

/// Returns the command of haft in the container. `chroot` needs no network and no cgroups of its own.
fn inside(store: &Store, container: &str, words: &[&str]) -> Command {
    let mut buildah = store.buildah();
    buildah.args(["run", "--isolation", "chroot", container, "--"]);
    buildah.arg("/usr/local/bin/haft").args(words);
    buildah
}

/// Starts the server on a free port, asks for its health as the image does, and stops it.
fn serve(start: &impl Fn(&[&str]) -> Command) -> Result<()> {
    let mut serving = start(&["serve", "--listen", "127.0.0.1:0"]);
    serving.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut server = serving.spawn().during(|| "start the server".into())?;
    let errors = server.stderr.take().expect("it is a pipe");
    let mut lines = BufReader::new(errors).lines().map_while(|line| line.ok());
    let address =
        lines.find_map(|line| Some(line.strip_prefix("listening on http://")?.to_owned()));
    let checked = match &address {
        Some(address) => command::output(&mut start(&["open", "--check", address])).map(drop),
        None => Err(Error::unexpected(
            "the server in the container did not start",
        )),
    };
    let stopped = server.kill().and_then(|()| server.wait());
    stopped.during(|| "stop the server".into())?;
    checked
}
