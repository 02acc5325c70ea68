//! `haft_VERSION_ARCH.deb`: a Debian package below `/usr`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Context, tree};
use crate::command;
use crate::error::{During, Result};
use crate::files;
use crate::packages;

/// Debian packages of the libraries that the program may need.
const LIBRARIES: [(&str, &str); 2] = [("libz.so.1", "zlib1g"), ("libgcc_s.so.1", "libgcc-s1")];

/// Number of the packaging of one version.
const REVISION: u32 = 1;

/// Notice that Debian requires; both licences are in `/usr/share/common-licenses` or below.
const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: haft
Source: REPOSITORY

Files: *
Copyright: 2026 the authors of haft
License: MIT or Apache-2.0
 The texts are in LICENSE-MIT.gz and LICENSE-APACHE.gz beside this file. The licences of everything that
 the program contains are in THIRD_PARTY_NOTICES.txt.gz.
";

/// Returns the file name of the package.
pub fn name(context: &Context) -> String {
    let facts = &context.facts;
    format!(
        "haft_{}-{REVISION}_{}.deb",
        facts.version,
        context.facts.architecture()
    )
}

pub fn make(context: &Context) -> Result<Vec<PathBuf>> {
    packages::ensure_programs("to make the .deb", &[("dpkg-deb", "dpkg")])?;
    let root = context.work("deb")?;
    let usr = root.join("usr");
    tree::copy(&tree::folder(context), &usr)?;
    let doc = usr.join("share/doc/haft");
    // Debian has its own folder for completions of zsh.
    let moving = || "lay out the .deb".to_owned();
    fs::rename(
        usr.join("share/zsh/site-functions"),
        usr.join("share/zsh/vendor-completions"),
    )
    .during(moving)?;
    fs::rename(doc.join("CHANGELOG.md"), doc.join("changelog")).during(moving)?;
    files::write(&doc.join("changelog.Debian"), &changelog(context)?)?;
    for folder in [usr.join("share/man/man1"), doc.clone()] {
        for file in tree::files(&folder)? {
            // `-n`: neither name nor time, so that the bytes depend on the content only.
            command::output(Command::new("gzip").args(["-9nf"]).arg(folder.join(file)))?;
        }
    }
    let repository = super::formula::repository(context)?;
    files::write(
        &doc.join("copyright"),
        &COPYRIGHT.replace("REPOSITORY", &repository),
    )?;
    files::write(&root.join("DEBIAN/md5sums"), &md5sums(&root)?)?;
    files::write(&root.join("DEBIAN/control"), &control(context, &root)?)?;
    let made = context.out.join(name(context));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.env("SOURCE_DATE_EPOCH", context.epoch.to_string());
    dpkg.args(["--root-owner-group", "-Zxz"]);
    dpkg.arg(if context.quick { "-z0" } else { "-z6" });
    command::output(dpkg.arg("--build").arg(&root).arg(&made))?;
    Ok(vec![made])
}

fn control(context: &Context, root: &Path) -> Result<String> {
    let facts = &context.facts;
    let mut depends = Vec::new();
    if let Some((major, minor)) = facts.glibc {
        depends.push(format!("libc6 (>= {major}.{minor})"));
    }
    let others = LIBRARIES
        .iter()
        .filter(|(library, _)| facts.libraries.iter().any(|it| it == library));
    depends.extend(others.map(|(_, package)| (*package).to_owned()));
    let kib = command::output(Command::new("du").args(["-sk"]).arg(root.join("usr")))?;
    let kib = kib.split_whitespace().next().unwrap_or_default();
    Ok(format!(
        "Package: haft\nVersion: {}-{REVISION}\nArchitecture: {}\nMaintainer: the haft project <{}>\n\
         Installed-Size: {kib}\nDepends: {}\nRecommends: ca-certificates\nSuggests: npm\n\
         Section: utils\nPriority: optional\nHomepage: {}\n\
         Description: tool host for LLM agents\n \
         Finds the tools that people write for LLM agents, in any language, and runs\n \
         them from the terminal, over MCP, REST or JSON-RPC.\n",
        facts.version,
        context.facts.architecture(),
        super::formula::contact(context)?,
        depends.join(", "),
        super::formula::repository(context)?,
    ))
}

/// Returns Debian's own list of changes, which names the version only. `changelog` has the rest.
fn changelog(context: &Context) -> Result<String> {
    let mut date = Command::new("date");
    date.args(["--utc", "--rfc-email", "--date"]);
    let date = command::output(date.arg(format!("@{}", context.epoch)))?;
    Ok(format!(
        "haft ({0}-{REVISION}) stable; urgency=medium\n\n  * Version {0}.\n\n -- the haft project <{1}>  {2}\n",
        context.facts.version,
        super::formula::contact(context)?,
        date.trim(),
    ))
}

fn md5sums(root: &Path) -> Result<String> {
    let mut md5sum = Command::new("md5sum");
    md5sum.current_dir(root);
    md5sum.args(
        tree::files(&root.join("usr"))?
            .iter()
            .map(|file| Path::new("usr").join(file)),
    );
    command::output(&mut md5sum)
}
