//! `haft-VERSION-ARCH.oci.tar`: a container image from nothing: the programs, the shared libraries
//! that they load, and a user without rights.
//!
//! It has no shell. An image with the programs that tools start copies `/usr/local` from this one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Context, program, tree};
use crate::command;
use crate::error::{During, Result};
use crate::files;
use crate::install::place;
use crate::packages;

/// Number of the user and the group, as in other images without a shell.
pub const USER: u32 = 65532;

const PASSWD: &str =
    "root:x:0:0:root:/root:/sbin/nologin\nhaft:x:65532:65532:haft:/home/haft:/sbin/nologin\n";
const GROUP: &str = "root:x:0:\nhaft:x:65532:\n";

/// Address of the server inside the container: every one of its own, because a container's loopback
/// interface cannot be reached from outside. Clients need its token.
const LISTEN: &str = "HAFT_SERVE_LISTEN=0.0.0.0:4238";

/// Returns the name of the image file.
pub fn name(context: &Context) -> String {
    format!(
        "haft-{}-linux-{}.oci.tar",
        context.facts.version,
        context.facts.architecture()
    )
}

/// A store of images of its own, which is removed when it is dropped.
pub struct Store {
    folder: tempfile::TempDir,
}

impl Store {
    pub fn new(context: &Context) -> Result<Store> {
        let why = "to make and check the container image";
        packages::ensure_programs(why, &[("buildah", "buildah")])?;
        let folder = tempfile::Builder::new()
            .prefix("images-")
            .tempdir_in(context.out.join("work"))
            .during(|| "make a store of images".to_owned())?;
        Ok(Store { folder })
    }

    pub fn buildah(&self) -> Command {
        let mut buildah = Command::new("buildah");
        // `vfs` needs neither a kernel module nor root.
        buildah.args(["--storage-driver", "vfs", "--root"]);
        buildah.arg(self.folder.path().join("root"));
        buildah.arg("--runroot").arg(self.folder.path().join("run"));
        buildah
    }

    /// Runs `buildah` with these arguments and returns what it prints.
    pub fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Result<String> {
        let said = command::output(self.buildah().args(arguments))?;
        Ok(said.trim().to_owned())
    }
}

pub fn make(context: &Context) -> Result<Vec<PathBuf>> {
    let work = context.work("oci")?;
    let root = work.join("root");
    lay_out(context, &root)?;
    let store = Store::new(context)?;
    let container = store.run(["from", "scratch"])?;
    let copied = root.display().to_string();
    store.run(["copy", "--quiet", &container, &copied, "/"])?;
    // That copy belongs to root. The home directory is a copy of its own, since the owner of a folder
    // that exists stays.
    let home = work.join("home").display().to_string();
    fs::create_dir(&home).during(|| format!("make `{home}`"))?;
    let owner = format!("{USER}:{USER}");
    let mut copy = store.buildah();
    copy.args(["copy", "--quiet", "--chown", &owner, "--chmod", "0700"]);
    command::output(copy.args([&container, &home, "/home/haft"]))?;
    let version = &context.facts.version;
    let glibc = context.facts.glibc.unwrap_or_default();
    let labels = [
        "org.opencontainers.image.title=haft".to_owned(),
        format!("org.opencontainers.image.version={version}"),
        "org.opencontainers.image.licenses=MIT OR Apache-2.0".to_owned(),
        format!(
            "org.opencontainers.image.source={}",
            super::formula::repository(context)?
        ),
        format!("haft.glibc={}.{}", glibc.0, glibc.1),
    ];
    let mut config = store.buildah();
    config.args(["config", "--user", &owner, "--workingdir", "/home/haft"]);
    for variable in [
        "HOME=/home/haft",
        "PATH=/usr/local/bin:/usr/bin:/bin",
        LISTEN,
    ] {
        config.args(["--env", variable]);
    }
    for label in &labels {
        config.args(["--label", label]);
    }
    config.args([
        "--port",
        "4238",
        "--entrypoint",
        r#"["/usr/local/bin/haft"]"#,
    ]);
    config.args(["--cmd", "serve"]);
    config.args(["--healthcheck", "CMD /usr/local/bin/haft open --check"]);
    config.args([
        "--healthcheck-interval",
        "30s",
        "--healthcheck-timeout",
        "5s",
    ]);
    command::output(config.arg(&container))?;
    let made = context.out.join(name(context));
    // A second image in the same file would be added.
    let _ = fs::remove_file(&made);
    let image = format!("haft:{version}");
    // Docker's format: that of OCI has no health check.
    store.run([
        "commit",
        "--quiet",
        "--timestamp",
        "0",
        "--format",
        "docker",
        &container,
        &image,
    ])?;
    let target = format!("docker-archive:{}:{image}", made.display());
    store.run(["push", "--quiet", &image, &target])?;
    store.run(["rm", &container])?;
    Ok(vec![made])
}

/// Makes the root of the image.
fn lay_out(context: &Context, root: &Path) -> Result<()> {
    let [haft, _] = program::kept(&context.out);
    let from = tree::folder(context);
    for part in ["bin", "libexec", "share/doc"] {
        tree::copy(&from.join(part), &root.join("usr/local").join(part))?;
    }
    for library in libraries(&haft)? {
        let inside = root.join(library.strip_prefix("/").unwrap_or(&library));
        // `fs::copy` follows the links that libraries are named by.
        place::copy(&library, &inside, place::PROGRAM)?;
    }
    files::write(&root.join("etc/passwd"), PASSWD)?;
    files::write(&root.join("etc/group"), GROUP)?;
    let tmp = root.join("tmp");
    fs::create_dir_all(&tmp)
        .and_then(|()| fs::set_permissions(&tmp, PermissionsExt::from_mode(0o1777)))
        .during(|| format!("make `{}`", tmp.display()))?;
    Ok(())
}

/// Returns the shared libraries that a program loads, as the dynamic linker finds them here, and the
/// dynamic linker.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let list = command::output(Command::new("ldd").arg(program))?;
    let paths = list.lines().filter_map(|line| {
        let path = line.split_once("=>").map_or(line, |(_, path)| path);
        let path = path.split_whitespace().next()?;
        path.starts_with('/').then(|| PathBuf::from(path))
    });
    Ok(paths.collect())
}
