//! Large files are compiled once; later processes load them from the store.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::sandbox::Sandbox;

const HASH: usize = blake3::OUT_LEN;

/// Makes a tool that adds with a function from a file of 90 kB.
fn sandbox(imports: &str) -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write("sum.ts", &tool(imports, ""));
    sandbox
}

fn tool(imports: &str, comment: &str) -> String {
    format!(
        "{imports}\n\
         export default (pi: any) => ({{ name: \"sum\", description: \"Adds\", parameters: pi.zod.object({{}}),\n\
         execute: () => ({{ content: [{{ type: \"text\", text: String(add7(1)) }}] }}) }});\n{comment}"
    )
}

fn module() -> String {
    let function =
        |n: u32| format!("export function add{n}(a: number): number {{ return a + {n}; }}\n");
    (0..1500).map(function).collect()
}

fn commonjs() -> String {
    let function = |n: u32| format!("exports.add{n} = function (a) {{ return a + {n}; }};\n");
    (0..1500).map(function).collect()
}

fn answer(sandbox: &Sandbox, options: &str) -> String {
    let ran = sandbox.sh(&format!("haft {options} --tool sum.ts call sum"));
    assert_eq!(ran.code, 0, "{}", ran.output);
    ran.output.trim().to_owned()
}

fn store(sandbox: &Sandbox) -> PathBuf {
    let cache = sandbox.path().join("home/.cache/haft");
    let of_keys = fs::read_dir(cache.join("sandboxed")).into_iter().flatten();
    let of_keys: Vec<_> = of_keys
        .flatten()
        .map(|found| found.path().join("compiled"))
        .collect();
    match of_keys.as_slice() {
        [] => cache.join("compiled"),
        // Code in a sandbox never writes what other isolates run.
        [of_key] if !cache.join("compiled").exists() => of_key.clone(),
        more => panic!("the tool has one key, and no other store: {more:?}"),
    }
}

/// Returns the kept files with their inodes: a file that is written again has another inode.
fn kept(sandbox: &Sandbox) -> Vec<(PathBuf, u64)> {
    let entries = fs::read_dir(store(sandbox)).expect("something was kept");
    let entry = |path: PathBuf| {
        let inode = fs::metadata(&path).expect("it is there").ino();
        (path, inode)
    };
    let mut kept: Vec<_> = entries
        .map(|found| entry(found.expect("it can be listed").path()))
        .collect();
    kept.sort();
    kept
}

/// Puts another body into a kept file, as haft itself would.
fn reseal(path: &Path, body: &[u8]) {
    let mut bytes = blake3::hash(body).as_bytes().to_vec();
    bytes.extend_from_slice(body);
    fs::write(path, bytes).expect("a file of ours");
}

/// The kept file whose body has this text in it, and the body.
fn holding(sandbox: &Sandbox, text: &[u8]) -> (PathBuf, Vec<u8>) {
    let bodies = kept(sandbox).into_iter().map(|(path, _)| {
        let bytes = fs::read(&path).expect("it can be read");
        (path, bytes[HASH..].to_vec())
    });
    let mut fitting = bodies.filter(|(_, body)| body.windows(text.len()).any(|part| part == text));
    fitting.next().expect("one of them holds it")
}

fn replaced(body: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = body.windows(from.len()).position(|part| part == from);
    let at = at.expect("it is in there");
    [&body[..at], to, &body[at + from.len()..]].concat()
}

#[test]
fn a_large_module_is_compiled_once() {
    let sandbox = sandbox("import { add7 } from \"./large.ts\";");
    sandbox.write("large.ts", &module());
    assert_eq!(answer(&sandbox, ""), "8");
    let first = kept(&sandbox);
    // JavaScript and bytecode. Small files, such as the tool itself, are not stored.
    assert_eq!(first.len(), 2, "{first:?}");
    for (path, _) in &first {
        let mode = fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // The tool's description is cached separately; it is loaded again after a change of its own
    // file.
    sandbox.write(
        "sum.ts",
        &tool("import { add7 } from \"./large.ts\";", "// new"),
    );
    assert_eq!(answer(&sandbox, ""), "8");
    // V8 accepted its bytecode, or it would have been written again.
    assert_eq!(kept(&sandbox), first);

    // The stored code is the code that runs.
    let (path, body) = holding(&sandbox, b"return a + 7;");
    reseal(&path, &replaced(&body, b"return a + 7;", b"return a + 9;"));
    assert_eq!(answer(&sandbox, ""), "10");
}

#[test]
fn a_large_package_is_compiled_once() {
    let imports = "import { add7 } from \"sums\";";
    let sandbox = sandbox(imports);
    sandbox.write("node_modules/sums/index.js", &commonjs());
    sandbox.write(
        "node_modules/sums/package.json",
        r#"{"name": "sums", "version": "1.0.0"}"#,
    );
    assert_eq!(answer(&sandbox, ""), "8");
    let first = kept(&sandbox);
    sandbox.write("sum.ts", &tool(imports, "// new"));
    assert_eq!(answer(&sandbox, ""), "8");
    assert_eq!(kept(&sandbox), first);

    // Its exports are stored too: an export that is missing there cannot be imported.
    let (path, body) = holding(&sandbox, b"\"add7\"");
    reseal(&path, &replaced(&body, b"\"add7\"", b"\"addX\""));
    let ran = sandbox.sh("haft --tool sum.ts call sum");
    assert!(
        ran.output
            .contains("does not provide an export named 'add7'"),
        "{}",
        ran.output
    );
}

#[test]
fn what_is_kept_is_doubted() {
    let imports = "import { add7 } from \"./large.ts\";";
    let sandbox = sandbox(imports);
    sandbox.write("large.ts", &module());
    assert_eq!(answer(&sandbox, ""), "8");
    let (path, body) = holding(&sandbox, b"return a + 7;");
    let other = replaced(&body, b"return a + 7;", b"return a + 9;");

    // Damaged: the hash in front does not match.
    let mut bytes = fs::read(&path).expect("it can be read");
    bytes.truncate(HASH);
    bytes.extend_from_slice(&other);
    fs::write(&path, &bytes).expect("a file of ours");
    assert_eq!(answer(&sandbox, ""), "8");

    // Another user could have written it.
    reseal(&path, &other);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("a file of ours");
    assert_eq!(answer(&sandbox, ""), "8");

    // Truncated, empty, missing.
    for bytes in [&bytes[..HASH / 2], &[][..]] {
        fs::write(&path, bytes).expect("a file of ours");
        assert_eq!(answer(&sandbox, ""), "8");
    }
    fs::remove_file(&path).expect("a file of ours");
    fs::create_dir(&path).expect("a directory of ours");
    assert_eq!(answer(&sandbox, ""), "8");

    // A changed source has another file.
    sandbox.write("large.ts", &module().replace("a + 7;", "a + 70;"));
    assert_eq!(answer(&sandbox, ""), "71");
}

#[test]
fn nothing_is_kept_where_nothing_shall_be() {
    let sandbox = sandbox("import { add7 } from \"./large.ts\";");
    sandbox.write("large.ts", &module());
    assert_eq!(answer(&sandbox, "--no-cache"), "8");
    assert!(!store(&sandbox).exists());
    // A file in the place of the folder only disables the cache.
    sandbox.write("home/.cache/haft/compiled", "");
    assert_eq!(answer(&sandbox, ""), "8");
}

#[test]
fn a_syntax_error_is_reported_each_time() {
    let sandbox = sandbox("import { add7 } from \"./large.ts\";");
    sandbox.write("large.ts", &format!("{}const = 3;\n", module()));
    for _ in 0..2 {
        let ran = sandbox.sh("haft --tool sum.ts call sum");
        assert!(ran.output.contains("large.ts:1501:7"), "{}", ran.output);
    }
}
