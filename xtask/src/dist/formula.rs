//! `haft.rb`: a Homebrew formula for the archives in the folder.
//!
//! A release collects the archives of all platforms in one folder and runs this alone.

use std::path::PathBuf;

use super::Context;
use crate::error::{Error, Result};
use crate::files;
use crate::workspace;

/// Conditions of Homebrew, with the target that each means.
const PLATFORMS: [(&str, &str, &str); 4] = [
    ("macos", "arm", "aarch64-apple-darwin"),
    ("macos", "intel", "x86_64-apple-darwin"),
    ("linux", "arm", "aarch64-unknown-linux-gnu"),
    ("linux", "intel", "x86_64-unknown-linux-gnu"),
];

pub fn make(context: &Context) -> Result<Vec<PathBuf>> {
    let version = &context.facts.version;
    let repository = repository(context)?;
    let mut sources = String::new();
    for system in ["macos", "linux"] {
        let mut choices = String::new();
        for (_, processor, target) in PLATFORMS.iter().filter(|(of, ..)| *of == system) {
            let name = format!("haft-{version}-{target}.tar.zst");
            let archive = context.out.join(&name);
            if archive.is_file() {
                choices.push_str(&format!(
                    "    on_{processor} do\n      url \"{repository}/releases/download/v{version}/{name}\"\n      \
                     sha256 \"{}\"\n    end\n",
                    files::sha256(&archive)?
                ));
            }
        }
        if !choices.is_empty() {
            sources.push_str(&format!("  on_{system} do\n{choices}  end\n"));
        }
    }
    if sources.is_empty() {
        return Err(Error::Missing {
            what: format!(
                "there is no `haft-{version}-….tar.zst` in `{}` for the formula",
                context.out.display()
            ),
            hint: "make it with `cargo xtask dist --only archive,formula`".into(),
        });
    }
    let made = context.out.join("haft.rb");
    files::write(&made, &text(version, &repository, &sources))?;
    Ok(vec![made])
}

fn text(version: &str, repository: &str, sources: &str) -> String {
    format!(
        r##"class Haft < Formula
  desc "Tool host for LLM agents: runs tools in any language"
  homepage "{repository}"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

{sources}
  def install
    bin.install "bin/haft"
    libexec.install Dir["libexec/*"]
    # haft looks for its system tools in `libexec/haft` of its prefix.
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/haft"
    zsh_completion.install "share/zsh/site-functions/_haft"
    fish_completion.install "share/fish/vendor_completions.d/haft.fish"
    doc.install Dir["share/doc/haft/*"]
  end

  test do
    assert_equal "haft #{{version}}", shell_output("#{{bin}}/haft --version").strip
    (testpath/".omp/agent/tools/greet.ts").write <<~TS
      export default () => ({{
        name: "greet", description: "Greets", parameters: {{ type: "object" }},
        execute: () => ({{ content: [{{ type: "text", text: "Hello" }}] }}),
      }});
    TS
    assert_match "Hello", shell_output("#{{bin}}/haft call greet")
  end
end
"##
    )
}

/// Returns the address of the repository, as `Cargo.toml` has it.
pub fn repository(context: &Context) -> Result<String> {
    workspace::package_field(&context.root, "repository")
}

/// Returns the mail address that Debian requires of a package.
pub fn contact(context: &Context) -> Result<String> {
    let repository = repository(context)?;
    let path = repository
        .trim_start_matches("https://github.com/")
        .replace('/', "+");
    Ok(format!("{path}@users.noreply.github.com"))
}
