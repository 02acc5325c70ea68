//! Links the program and bundles the page of `haft serve`.

#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a build script starts programs and reads cargo's variables"
)]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the page.
const PAGE: [&str; 4] = ["index.html", "page.js", "page.css", "icon.svg"];

fn main() {
    for path in ["build.rs", "layout.gz", "src/surface/page/web"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let out = PathBuf::from(env("OUT_DIR"));
    if std::env::var_os("CARGO_FEATURE_CLI").is_none() {
        return;
    }
    if std::env::var_os("DOCS_RS").is_some() {
        write_empty_page(&out);
        return;
    }
    export_native_interface();
    fix_place_of_programs();
    lay_out_functions();
    let root = PathBuf::from(env("CARGO_MANIFEST_DIR"));
    let bundled = root.join("bundled/page");
    if bundled.is_dir() {
        copy_page(&bundled, &out);
    } else {
        // `npm ci` was run by the build script of `haft-engine`, which cargo runs first (`links`).
        bundle_page(&root, &out);
    }
}

/// Copies the page of a published package, which `cargo xtask dist` bundled. No Node.js is needed.
fn copy_page(bundled: &Path, out: &Path) {
    println!("cargo:rerun-if-changed={}", bundled.display());
    let page = out.join("page");
    std::fs::create_dir_all(&page).expect("cargo's folder can be written");
    for name in PAGE {
        let copied = std::fs::copy(bundled.join(name), page.join(name));
        copied.unwrap_or_else(|error| panic!("{}/{name}: {error}", bundled.display()));
    }
}

/// Exports Node's C functions from the program, in which native modules of tools (`.node`) find
/// them.
fn export_native_interface() {
    if env("CARGO_CFG_TARGET_OS") == "macos" {
        for prefix in ["napi", "node_api", "uv"] {
            println!("cargo:rustc-link-arg-bin=haft=-Wl,-exported_symbol,_{prefix}_*");
        }
    } else {
        for prefix in ["napi", "node_api", "uv"] {
            println!("cargo:rustc-link-arg-bin=haft=-Wl,--export-dynamic-symbol={prefix}_*");
        }
    }
}

/// Writes the files of an empty page, for documentation without Node.js.
fn write_empty_page(out: &Path) {
    let page = out.join("page");
    std::fs::create_dir_all(&page).expect("cargo's folder can be written");
    for name in PAGE {
        std::fs::write(page.join(name), "").expect("cargo's folder can be written");
    }
}

/// Links our programs for a fixed address, as those of Node and Bun are.
///
/// Otherwise the dynamic linker writes some hundred thousand addresses into private pages before
/// `main`, which took most of the time of `haft --version`. Stack, heap, libraries and the code
/// that V8 compiles keep their random addresses. An embedder's program is linked as the embedder
/// says.
fn fix_place_of_programs() {
    let is_gnu = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|it| it == "gnu");
    if is_gnu && env("CARGO_CFG_TARGET_OS") == "linux" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
        // The published package has no benchmark, and cargo refuses arguments for what is not there.
        if Path::new(&env("CARGO_MANIFEST_DIR"))
            .join("benches")
            .is_dir()
        {
            println!("cargo:rustc-link-arg-benches=-no-pie");
        }
    }
}

/// Orders the functions that run side by side. Most of the program's memory was pages of unused
/// code that lay beside them. `cargo xtask layout` writes the list; other functions keep their
/// order.
fn lay_out_functions() {
    if env("PROFILE") != "release" {
        return;
    }
    let list = PathBuf::from(env("CARGO_MANIFEST_DIR")).join("layout.gz");
    let file =
        std::fs::File::open(&list).unwrap_or_else(|error| panic!("{}: {error}", list.display()));
    let order = PathBuf::from(env("OUT_DIR")).join("layout.txt");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("`layout.gz` is as it was committed");
    std::fs::write(&order, text).expect("cargo's folder can be written");
    let arguments = [
        format!("-Wl,--symbol-ordering-file={}", order.display()),
        // A later version of a crate may not have these names.
        "-Wl,--no-warn-symbol-ordering".to_owned(),
    ];
    if is_understood_by_the_linker(&arguments) {
        for argument in arguments {
            println!("cargo:rustc-link-arg-bin=haft={argument}");
        }
    }
}

/// Returns true if the linker accepts these arguments, by linking an empty program. LLVM's linker
/// knows them, but only some systems use it by default.
fn is_understood_by_the_linker(arguments: &[String]) -> bool {
    let out = PathBuf::from(env("OUT_DIR"));
    let source = out.join("nothing.rs");
    std::fs::write(&source, "fn main() {}").expect("cargo's folder can be written");
    let mut rustc = Command::new(env("RUSTC"));
    rustc.arg(&source).arg("-o").arg(out.join("nothing"));
    rustc.args(["--target", &env("TARGET")]);
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    for argument in arguments {
        rustc.args(["-C", &format!("link-arg={argument}")]);
    }
    rustc.output().is_ok_and(|linked| linked.status.success())
}

/// Bundles the page that `haft serve` shows, for `src/surface/page`.
fn bundle_page(root: &Path, out: &Path) {
    let bundled = Command::new("node")
        .arg(root.join("src/surface/page/web/build.mjs"))
        .arg("--out")
        .arg(out.join("page"))
        .current_dir(root)
        .status();
    if !bundled.is_ok_and(|status| status.success()) {
        stop(
            "`node src/surface/page/web/build.mjs` failed, so there is no page",
            "its message is above; `rm -r node_modules` and build again if packages are broken",
        );
    }
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

fn stop(what: &str, hint: &str) -> ! {
    println!("cargo::error={what}");
    println!("cargo::error=hint: {hint}");
    std::process::exit(1);
}
