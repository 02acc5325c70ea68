//! Makes the V8 snapshot: Deno's runtime, our extension with its TypeScript, and zod.
//!
//! The packages for tools come from npm and are bundled here, never committed. The published package
//! has them in its folder `bundled` (`cargo xtask dist`), so that its build needs neither Node.js nor
//! npm. Sources that are not in the snapshot are embedded beside it as residual sources, already
//! transpiled.

#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a build script starts programs and reads cargo's variables"
)]

use std::collections::HashSet;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use deno_core::serde_json::{self, Value};
use deno_core::{Extension, ExtensionFileSource};
use deno_runtime::ops::bootstrap::SnapshotOptions;
use deno_runtime::snapshot::{
    CreateRuntimeSnapshotOutput, LazyExtensionFileKind, create_runtime_snapshot,
};

#[path = "src/extension/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the runtime half is used by the library only"
)]
mod extension;

/// True if docs.rs documents the package: there is no Node.js, no npm and no V8 to link.
///
/// A constant, so that the compiler leaves out the calls that need V8.
const DOCS_RS: bool = option_env!("DOCS_RS").is_some();

fn main() {
    let out = PathBuf::from(env("OUT_DIR"));
    if DOCS_RS {
        write_placeholders(&out);
        return;
    }
    for path in ["build.rs", "src/extension"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let sources = Sources::find(&out);
    let extension = extension_with(&sources, &out);
    // If nothing in it has changed, the snapshot is kept, because it takes a minute.
    let made_of = made_of(&extension);
    let record = out.join("made-of");
    let is_made = ["snapshot.bin", "generated.rs"]
        .iter()
        .all(|name| out.join(name).exists());
    if is_made && std::fs::read_to_string(&record).is_ok_and(|text| text == made_of) {
        return;
    }
    let snapshot = create_runtime_snapshot(
        out.join("snapshot.bin"),
        SnapshotOptions {
            ts_version: "5.9".into(),
            v8_version: deno_core::v8::VERSION_STRING,
            target: env("TARGET"),
        },
        vec![extension],
    );
    let mut generated = residual_sources(snapshot);
    generated.push_str(&package_table(&sources.packages));
    generated.push_str(&identity(&out.join("snapshot.bin"), &generated));
    write(&out.join("generated.rs"), &generated);
    write(&record, &made_of);
}

/// Writes an empty snapshot and empty tables, with which the library can be documented.
fn write_placeholders(out: &Path) {
    write(&out.join("snapshot.bin"), "");
    let tables = [
        "RESIDUAL_SCRIPTS",
        "RESIDUAL_MODULES",
        "HOST_PACKAGES",
        "HOST_MODULES",
    ];
    let mut text = String::from("pub static ID: u64 = 0;\n");
    for table in tables {
        let _ = writeln!(text, "pub static {table}: &[(&str, &str)] = &[];");
    }
    write(&out.join("generated.rs"), &text);
}

/// Returns a text that changes whenever the snapshot would: a hash of our sources, and of the size
/// and time of this program, which contains Deno's sources.
fn made_of(extension: &Extension) -> String {
    let mut hasher = DefaultHasher::new();
    let script = std::env::current_exe().and_then(std::fs::metadata);
    if let Ok(script) = script {
        (script.len(), script.modified().ok()).hash(&mut hasher);
    }
    env("TARGET").hash(&mut hasher);
    let scripts = extension.lazy_loaded_js_files.iter();
    for file in extension.esm_files.iter().chain(scripts) {
        file.specifier.hash(&mut hasher);
        let text = file.load().expect("a file that was just written");
        text.as_bytes().hash(&mut hasher);
    }
    hasher.finish().to_string()
}

/// One script of host-provided JavaScript, and the specifiers that import it.
struct Package {
    name: String,
    script: PathBuf,
    specifiers: Vec<String>,
}

impl Package {
    fn script_specifier(&self) -> String {
        format!("ext:haft/{}.js", self.name)
    }

    fn module_specifier(&self) -> String {
        format!("haft:{}", self.name)
    }
}

/// The JavaScript that becomes part of the library.
struct Sources {
    packages: Vec<Package>,
    /// Folder with our own runtime.
    runtime: PathBuf,
}

impl Sources {
    /// Returns the sources of a published package, or those of the checkout, whose packages are
    /// bundled first.
    fn find(out: &Path) -> Sources {
        let here = PathBuf::from(env("CARGO_MANIFEST_DIR"));
        let bundled = here.join("bundled");
        if bundled.is_dir() {
            println!("cargo:rerun-if-changed=bundled");
            return Sources {
                packages: read_packages(&bundled.join("packages")),
                runtime: bundled.join("runtime"),
            };
        }
        let root = here.join("../..");
        // Only the built parts of `js-runtime`, not its tests. `runtime_files` names the other files.
        for path in [
            "js-runtime/build.mjs",
            "js-runtime/packages",
            "package-lock.json",
        ] {
            println!("cargo:rerun-if-changed=../../{path}");
        }
        Sources {
            packages: bundle_packages(&root, out),
            runtime: root.join("js-runtime"),
        }
    }
}

fn bundle_packages(root: &Path, out: &Path) -> Vec<Package> {
    let node = Command::new("node").arg("--version").output();
    if !node.is_ok_and(|done| done.status.success()) {
        stop(
            "building haft needs Node.js (`node`), which is not on PATH",
            "install Node.js 20 or newer, for example with `apt-get install nodejs npm`",
        );
    }
    let modules = root.join("node_modules");
    let lock = root.join("package-lock.json");
    if !is_installed(&lock, &modules) {
        let npm = Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(root)
            .status();
        match npm {
            Ok(status) if status.success() => {}
            Ok(_) => stop(
                "`npm ci` failed, so the JavaScript packages that haft bundles are missing",
                "run `npm ci` in the checkout and read its message; offline, copy a filled `node_modules`",
            ),
            Err(_) => stop(
                "building haft needs `npm`, which is not on PATH",
                "install npm, or copy a filled `node_modules` into the checkout",
            ),
        }
    }
    let target = out.join("js");
    let bundled = Command::new("node")
        .arg(root.join("js-runtime/build.mjs"))
        .arg("--out")
        .arg(&target)
        .current_dir(root)
        .status();
    if !bundled.is_ok_and(|status| status.success()) {
        stop(
            "`node js-runtime/build.mjs` failed, so the packages for tools could not be bundled",
            "its message is above; `rm -r node_modules` and build again if packages are broken",
        );
    }
    read_packages(&target)
}

/// Returns true if everything in the lock file is installed in its version. Times are not compared:
/// a fresh clone beside a copied `node_modules` has a younger lock.
fn is_installed(lock: &Path, modules: &Path) -> bool {
    let packages = |path: &Path| -> Option<Value> {
        let text = std::fs::read_to_string(path).ok()?;
        Some(serde_json::from_str::<Value>(&text).ok()?["packages"].take())
    };
    let installed = packages(&modules.join(".package-lock.json")).unwrap_or_default();
    let wanted = packages(lock).unwrap_or_default();
    wanted.as_object().is_some_and(|wanted| {
        wanted
            .iter()
            .filter(|(path, _)| !path.is_empty())
            .all(|(path, package)| {
                package["optional"] == true || installed[path]["version"] == package["version"]
            })
    })
}

fn read_packages(target: &Path) -> Vec<Package> {
    let text = read(&target.join("packages.json"));
    let list: Vec<Value> = serde_json::from_str(&text).expect("packages.json is a JSON array");
    let text_of = |value: &Value| {
        value
            .as_str()
            .expect("a string in packages.json")
            .to_owned()
    };
    list.iter()
        .map(|entry| Package {
            name: text_of(&entry["name"]),
            script: target.join(text_of(&entry["script"])),
            specifiers: entry["specifiers"]
                .as_array()
                .expect("specifiers is an array in packages.json")
                .iter()
                .map(text_of)
                .collect(),
        })
        .collect()
}

fn extension_with(sources: &Sources, out: &Path) -> Extension {
    let mut ours = extension::haft::init();
    ours.esm_files = runtime_files(&sources.runtime, out).into();
    ours.lazy_loaded_js_files = sources
        .packages
        .iter()
        .map(|package| {
            let path: &'static str = leak(package.script.display().to_string());
            ExtensionFileSource::loaded_during_snapshot(leak(package.script_specifier()), path)
        })
        .collect::<Vec<_>>()
        .into();
    ours
}

/// Our own runtime: the files `NN_name.ts` of the folder, in the order of the numbers.
///
/// Sources of an extension must be ASCII. Other characters, which are only in strings and comments,
/// become escapes in a copy.
fn runtime_files(folder: &Path, out: &Path) -> Vec<ExtensionFileSource> {
    let copies = out.join("runtime");
    std::fs::create_dir_all(&copies).expect("cargo's OUT_DIR can be written");
    let entries = std::fs::read_dir(folder).expect("the runtime is in the checkout");
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".ts") && name.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| {
            println!("cargo:rerun-if-changed={}", folder.join(&name).display());
            let copy = copies.join(&name);
            write(&copy, &escaped(&read(&folder.join(&name))));
            let path = copy.display().to_string();
            ExtensionFileSource::loaded_during_snapshot(
                leak(format!("ext:haft/{name}")),
                leak(path),
            )
        })
        .collect()
}

fn escaped(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

/// Corrections of Deno's Node modules where they differ from Node: a script, a text that occurs in
/// it once, and its replacement.
const CORRECTIONS: &[(&str, &str, &str)] = &[
    (
        // The result of a program that cannot be started has all members, and always `error`.
        "ext:deno_node/internal/child_process.ts",
        "    if (ObjectPrototypeIsPrototypeOf(Deno.errors.NotFound.prototype, err)) {
      result.error = _createSpawnError(\"ENOENT\", command, args, true);
    }
  }
  return result;",
        "    if (ObjectPrototypeIsPrototypeOf(Deno.errors.NotFound.prototype, err)) {
      result.error = _createSpawnError(\"ENOENT\", command, args, true);
    } else if (
      ObjectPrototypeIsPrototypeOf(Deno.errors.PermissionDenied.prototype, err)
    ) {
      result.error = _createSpawnError(\"EACCES\", command, args, true);
    } else {
      result.error = err;
    }
    result.status = null;
    result.signal = null;
    result.output = null;
    result.pid = 0;
    result.stdout = null;
    result.stderr = null;
  }
  return result;",
    ),
    (
        // In isolates of projects, code that `require` compiles is checked:
        // `js-runtime/07_verify.ts`.
        "node:module",
        "  let f;
  let err;

  if (patched) {",
        "  let f;
  let err;

  internals.haftCode.required(content);
  if (patched) {",
    ),
    (
        "node:module",
        "      ? op_import_sync_with_source(specifier, code)",
        "      ? (internals.haftCode.required(code), op_import_sync_with_source(specifier, code))",
    ),
    (
        "node:module",
        "  module.exports = op_napi_open(
    filename,",
        "  internals.haftCode.native(filename);
  module.exports = op_napi_open(
    filename,",
    ),
    (
        "ext:deno_node/vm.js",
        "const { core, primordials } = __bootstrap;",
        "const { core, internals, primordials } = __bootstrap;",
    ),
    (
        "ext:deno_node/vm.js",
        "op_vm_create_script(",
        "(internals.haftCode.text(code), op_vm_create_script)(",
    ),
    (
        "ext:deno_node/vm.js",
        "op_vm_compile_function(",
        "(internals.haftCode.text(code), op_vm_compile_function)(",
    ),
    (
        "ext:deno_node/vm.js",
        "op_vm_create_context(
    contextObject,
    name,
    origin,
    strings,",
        "(internals.haftCode.text(\"\"), op_vm_create_context)(
    contextObject,
    name,
    origin,
    strings && !internals.haftCode.isVerified(),",
    ),
    (
        "ext:deno_node/vm.js",
        "op_vm_create_context_without_contextify(
      strings,",
        "(internals.haftCode.text(\"\"), op_vm_create_context_without_contextify)(
      strings && !internals.haftCode.isVerified(),",
    ),
    (
        "ext:deno_node/vm.js",
        "op_vm_module_create_source_text_module(",
        "(internals.haftCode.text(sourceText), op_vm_module_create_source_text_module)(",
    ),
    (
        "ext:deno_node/inspector.js",
        "const { core, primordials } = __bootstrap;",
        "const { core, internals, primordials } = __bootstrap;",
    ),
    (
        "ext:deno_node/inspector.js",
        "    op_inspector_dispatch(this.#connection, JSONStringify(message));",
        "    const haftMessage = JSONStringify(message);
    internals.haftCode.inspect(haftMessage);
    op_inspector_dispatch(this.#connection, haftMessage);",
    ),
    (
        // A sandbox shows no interfaces, and `detect-libc`, which many packages use, asks for none.
        "ext:deno_node/internal/process/report.ts",
        "      networkInterfaces: os.networkInterfaces(),",
        "      networkInterfaces: report.excludeNetwork ? undefined : (() => {
        try {
          return os.networkInterfaces();
        } catch {
          return [];
        }
      })(),",
    ),
    (
        // WASI opens the files in these folders without Deno's file system and its permissions.
        "ext:deno_node/wasi.ts",
        "        const realPathString = String(realPath);",
        "        const realPathString = String(realPath);
        core.ops.op_haft_refuse_preopen(realPathString);",
    ),
];

fn corrected(specifier: &str, source: String) -> String {
    CORRECTIONS
        .iter()
        .filter(|(script, ..)| *script == specifier)
        .fold(source, |source, (_, wrong, right)| {
            assert_eq!(
                source.matches(wrong).count(),
                1,
                "{specifier} is another one"
            );
            source.replacen(wrong, right, 1)
        })
}

/// Embeds the sources that are not in the snapshot as text: sorted, wrapped and transpiled, as
/// deno_core expects of residual sources.
fn residual_sources(snapshot: CreateRuntimeSnapshotOutput) -> String {
    let consumed: HashSet<_> = snapshot.consumed_lazy_specifiers.iter().collect();
    let (mut scripts, mut modules) = (Vec::new(), Vec::new());
    let mut uncorrected: HashSet<&str> = CORRECTIONS.iter().map(|(script, ..)| *script).collect();
    for file in &snapshot.lazy_extension_files {
        if consumed.contains(&file.specifier) {
            continue;
        }
        uncorrected.remove(file.specifier.as_str());
        let source = corrected(&file.specifier, read(&file.path));
        let (code, _) = deno_runtime::transpile::maybe_transpile_source(
            file.specifier.clone().into(),
            source.into(),
        )
        .unwrap_or_else(|error| panic!("{}: {error}", file.specifier));
        match file.kind {
            LazyExtensionFileKind::Js => scripts.push((
                file.specifier.as_str(),
                deno_core::wrap_lazy_ext_script(code.as_str()),
            )),
            LazyExtensionFileKind::Esm => {
                modules.push((file.specifier.as_str(), code.as_str().to_owned()))
            }
        }
    }
    assert!(uncorrected.is_empty(), "not residual: {uncorrected:?}");
    let mut text = String::new();
    for (name, mut list) in [("RESIDUAL_SCRIPTS", scripts), ("RESIDUAL_MODULES", modules)] {
        list.sort();
        let _ = writeln!(text, "pub static {name}: &[(&str, &str)] = &{list:?};");
    }
    text
}

/// Generates two tables: the host packages by the specifiers that tools write, and deno_core's
/// mapping from a package's module to its script.
fn package_table(packages: &[Package]) -> String {
    let mut specifiers: Vec<(String, String)> = packages
        .iter()
        .flat_map(|package| {
            let module = package.module_specifier();
            package
                .specifiers
                .iter()
                .map(move |name| (name.clone(), module.clone()))
        })
        .collect();
    specifiers.sort();
    let modules: Vec<(String, String)> = packages
        .iter()
        .map(|package| (package.module_specifier(), package.script_specifier()))
        .collect();
    format!(
        "pub static HOST_PACKAGES: &[(&str, &str)] = &{specifiers:?};\n\
         pub static HOST_MODULES: &[(&str, &str)] = &{modules:?};\n"
    )
}

/// Returns a number that changes with the code that runs in isolates. Caches depend on it.
fn identity(snapshot: &Path, generated: &str) -> String {
    let bytes = std::fs::read(snapshot).expect("the snapshot was just written");
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    generated.hash(&mut hasher);
    format!("pub static ID: u64 = {};\n", hasher.finish())
}

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn stop(what: &str, hint: &str) -> ! {
    println!("cargo::error={what}");
    println!("cargo::error=hint: {hint}");
    std::process::exit(1);
}
