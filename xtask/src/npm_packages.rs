//! `cargo xtask npm-packages`: popular npm packages under a grant.
//!
//! One tool imports each package. After `haft trust` every one of them must load without a refusal,
//! except where the trust page named a computed import. After `haft trust --learn` all of them
//! must.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::error::{During, Error, Result};
use crate::files;
use crate::{command, programs, workspace};

/// Load a hundred npm packages under a grant, and report what is refused.
#[derive(Args)]
pub struct NpmPackages {
    /// The haft to try; default: a debug build of the checkout
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,

    /// Only these packages
    packages: Vec<String>,
}

/// Widely used packages without native code and without a server to talk to when they are loaded.
const PACKAGES: &[&str] = &[
    "acorn",
    "ajv",
    "ansi-styles",
    "arg",
    "argparse",
    "async",
    "axios",
    "bluebird",
    "body-parser",
    "chalk",
    "cheerio",
    "chokidar",
    "class-validator",
    "classnames",
    "cli-table3",
    "clsx",
    "colorette",
    "commander",
    "compression",
    "concat-stream",
    "cookie",
    "core-js",
    "cors",
    "cross-spawn",
    "csv-parse",
    "csv-stringify",
    "date-fns",
    "dayjs",
    "debug",
    "deepmerge",
    "diff",
    "dotenv",
    "ejs",
    "entities",
    "es-toolkit",
    "escape-html",
    "eventemitter3",
    "execa",
    "express",
    "fast-glob",
    "fast-xml-parser",
    "figlet",
    "form-data",
    "fs-extra",
    "get-stream",
    "glob",
    "globby",
    "graphql",
    "gray-matter",
    "handlebars",
    "highlight.js",
    "html-entities",
    "http-errors",
    "iconv-lite",
    "immer",
    "immutable",
    "ini",
    "inquirer",
    "joi",
    "js-yaml",
    "jsdom",
    "json5",
    "jsonc-parser",
    "jsonwebtoken",
    "kleur",
    "koa",
    "lodash",
    "lodash-es",
    "lru-cache",
    "luxon",
    "marked",
    "mathjs",
    "micromatch",
    "mime-types",
    "minimatch",
    "minimist",
    "moment",
    "ms",
    "mustache",
    "nanoid",
    "node-fetch",
    "nunjucks",
    "object-hash",
    "openai",
    "ora",
    "p-limit",
    "papaparse",
    "picocolors",
    "pino",
    "prettier",
    "prompts",
    "pug",
    "qs",
    "ramda",
    "react",
    "rimraf",
    "rxjs",
    "semver",
    "simple-git",
    "slugify",
    "superagent",
    "tar",
    "tslib",
    "turndown",
    "typescript",
    "uuid",
    "validator",
    "winston",
    "ws",
    "xml2js",
    "yaml",
    "yargs",
    "yup",
    "zod",
];

/// Texts of a refusal.
const REFUSALS: &[&str] = &[
    "is not part of what was trusted",
    "changed since it was trusted",
    "the trust page did not say",
];

impl NpmPackages {
    pub fn run(self) -> Result<()> {
        let root = workspace::root();
        let build = || programs::build_haft(false);
        let program = workspace::program(self.program.as_deref(), build)?;
        let packages: Vec<&str> = if self.packages.is_empty() {
            PACKAGES.to_vec()
        } else {
            self.packages.iter().map(String::as_str).collect()
        };
        let folder = workspace::target_dir(&root)?.join("npm-packages");
        let project = Project { program, folder };
        project.install(&packages)?;
        project.write_tools(&packages)?;

        let page = project.haft(&["trust", "--yes"])?;
        let open = open_tools(&page);
        let refused = project.refused()?;
        println!("{} packages, {} of them open", packages.len(), open.len());
        for (tool, why) in &refused {
            let kind = if open.contains(tool) { "open" } else { "WRONG" };
            println!("refused ({kind}): {tool}: {why}");
        }
        project.haft(&["trust", "--learn", "--yes"])?;
        let still = project.refused()?;
        for (tool, why) in &still {
            println!("refused after --learn: {tool}: {why}");
        }
        let wrong = refused.iter().filter(|(tool, _)| !open.contains(tool));
        match (wrong.count(), still.len()) {
            (0, 0) => Ok(()),
            (wrong, still) => Err(Error::unexpected(format!(
                "{wrong} packages were refused wrongly, {still} after learning"
            ))),
        }
    }
}

struct Project {
    program: PathBuf,
    folder: PathBuf,
}

impl Project {
    fn install(&self, packages: &[&str]) -> Result<()> {
        files::make_folder(&self.folder.join("home"))?;
        let manifest = self.folder.join("package.json");
        if !manifest.exists() {
            files::write(&manifest, "{\"private\": true}\n")?;
        }
        let missing: Vec<_> = packages
            .iter()
            .filter(|package| !self.folder.join("node_modules").join(package).exists())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut npm = Command::new("npm");
        npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
            .args(missing)
            .current_dir(&self.folder);
        command::run(&mut npm)
    }

    fn write_tools(&self, packages: &[&str]) -> Result<()> {
        let tools = self.folder.join(".omp/tools");
        let _ = fs::remove_dir_all(&tools);
        for package in packages {
            let name = tool_name(package);
            let text = format!(
                "import * as it from '{package}';\n\
                 export default () => ({{ name: '{name}', description: String(Object.keys(it).length), \
                 parameters: {{ type: 'object' }}, execute() {{}} }});\n"
            );
            let path = tools.join(format!("{name}.ts"));
            files::write(&path, &text)?;
        }
        Ok(())
    }

    /// Runs haft and returns both of its output streams, whatever its exit status.
    fn haft(&self, arguments: &[&str]) -> Result<String> {
        let mut haft = Command::new(&self.program);
        haft.args(arguments)
            .current_dir(&self.folder)
            .env("HOME", self.folder.join("home"));
        let output = haft.output();
        let output = output.during(|| format!("start `{}`", command::display(&haft)))?;
        let streams = [output.stdout, output.stderr];
        Ok(streams
            .map(|it| String::from_utf8_lossy(&it).into_owned())
            .concat())
    }

    /// Returns the tools that are refused, with the reason.
    fn refused(&self) -> Result<Vec<(String, String)>> {
        let listed = self.haft(&["--no-cache", "list"])?;
        let mut refused = Vec::new();
        let mut lines = listed.lines().peekable();
        while let Some(line) = lines.next() {
            if !REFUSALS.iter().any(|words| line.contains(words)) {
                continue;
            }
            let place = lines.find(|line| line.trim_start().starts_with("at "));
            let place = place.unwrap_or_default().trim_start_matches(" at").trim();
            let stem = Path::new(place.split(':').next().unwrap_or_default()).file_stem();
            let tool = stem.map(|stem| stem.to_string_lossy().into_owned());
            refused.push((tool.unwrap_or_default(), line.to_owned()));
        }
        Ok(refused)
    }
}

/// Returns the tools that the trust page calls open.
fn open_tools(page: &str) -> BTreeSet<String> {
    let mut open = BTreeSet::new();
    let mut tool = "";
    for line in page.lines() {
        if !line.starts_with(' ') {
            tool = line.split("  ").next().unwrap_or_default();
        } else if line.trim_start().starts_with("open: ") {
            open.insert(tool.to_owned());
        }
    }
    open
}

fn tool_name(package: &str) -> String {
    let is_plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    package.chars().map(is_plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_tools_are_read_from_the_page() {
        let page = "~/p\n\none  OMP  new\n  one.ts\n\ntwo  OMP  new\n  two.ts\n  open: two.ts:3 imports a computed path\n";
        assert_eq!(open_tools(page), BTreeSet::from(["two".to_owned()]));
    }
}
