//! Text that was made to break a parser: it is refused, without a crash or unlimited memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use haft_engine::graph::{Graph, What, module_graph, untrusted_module_graph};

use crate::callers::until;
use crate::sandbox::Sandbox;
use crate::served::Served;

/// One nested construct: a name, the extension of its file, and its parts: a start, a repeated
/// text, a middle, another repeated text, an end.
type Construct = (&'static str, &'static str, [&'static str; 5]);

const CONSTRUCTS: &[Construct] = &[
    ("arrows", "ts", ["x=", "a=>", "1", "", ""]),
    ("arrows of two", "ts", ["x=", "(a,b)=>", "1", "", ""]),
    ("typed arrows", "ts", ["x=", "(a:A,b:B):C=>", "1", "", ""]),
    ("generic arrows", "ts", ["x=", "<T,U>(a:T)=>", "1", "", ""]),
    ("async arrows", "ts", ["x=", "async(a,b)=>", "1", "", ""]),
    (
        "arrows with defaults",
        "ts",
        ["x=", "(a=1,b=2)=>", "1", "", ""],
    ),
    ("arrows in defaults", "ts", ["x=", "(a=", "1", ")=>a", ""]),
    ("conditionals", "js", ["x=", "a?b:", "1", "", ""]),
    ("conditionals inside", "js", ["x=", "a?", "1", ":b", ""]),
    (
        "conditionals with arrows",
        "ts",
        ["x=", "a?(b):c=>", "1", "", ""],
    ),
    (
        "strings in conditionals",
        "js",
        ["x=", "a?\";\":", "1", "", ""],
    ),
    ("brackets in strings", "js", ["x=", "(\")\"+", "1", ")", ""]),
    ("parentheses", "ts", ["x=", "(", "1", ")", ""]),
    ("arrays", "js", ["x=", "[", "1", "]", ""]),
    ("objects", "js", ["x=", "{a:", "1", "}", ""]),
    ("calls", "js", ["x=", "f(a,", "1", ")", ""]),
    ("calls of calls", "js", ["x=f", "(a,b)", "", "", ""]),
    ("indices", "js", ["x=f", "[0]", "", "", ""]),
    ("members", "js", ["x=f", ".a", "", "", ""]),
    ("optional members", "js", ["x=f", "?.a", "", "", ""]),
    ("optional calls", "js", ["x=f", "?.(a,b)", "", "", ""]),
    (
        "assertions that it is not null",
        "ts",
        ["x=f", "!.a", "", "", ""],
    ),
    ("tagged templates", "js", ["x=f", "`a`", "", "", ""]),
    ("new", "js", ["x=", "new ", "f", "", ""]),
    ("not", "js", ["x=", "!", "1", "", ""]),
    ("minus", "js", ["x=", "- ", "1", "", ""]),
    ("typeof", "js", ["x=", "typeof ", "1", "", ""]),
    ("await", "js", ["x=", "await ", "1", "", ""]),
    ("yield", "js", ["function*g(){", "yield ", "1", "", "}"]),
    ("assignments", "js", ["", "a=", "1", "", ""]),
    ("sums", "js", ["x=", "1+", "1", "", ""]),
    ("powers", "js", ["x=", "a**", "1", "", ""]),
    ("sums of braces", "js", ["x=", "{}+", "1", "", ""]),
    ("or", "js", ["x=", "a||", "1", "", ""]),
    ("in", "js", ["x=", "a in ", "b", "", ""]),
    ("sequences", "js", ["x=(", "a,", "1", "", ")"]),
    ("else if", "js", ["", "if(a){}else ", "{}", "", ""]),
    (
        "else if with semicolons",
        "js",
        ["", "if(a)b;else ", ";", "", ""],
    ),
    ("if", "js", ["", "if(a)\n", ";", "", ""]),
    ("for", "js", ["", "for(;;)", ";", "", ""]),
    ("while", "js", ["", "while(a)", ";", "", ""]),
    ("do", "js", ["", "do ", ";", "while(0);", ""]),
    ("labels", "js", ["", "a:", ";", "", ""]),
    ("blocks", "js", ["", "{", "", "}", ""]),
    ("try", "js", ["", "try{", "", "}catch{}", ""]),
    ("functions", "js", ["", "function f(a,b){", "", "}", ""]),
    ("classes", "js", ["x=", "class{a=", "1", "}", ""]),
    (
        "classes that extend",
        "js",
        ["x=", "class extends ", "A", "{}", ""],
    ),
    ("methods", "js", ["x=", "{a(){return ", "1", "}}", ""]),
    (
        "decorators",
        "ts",
        ["", "@d(class{a=", "1", "})class A{}", ""],
    ),
    ("templates", "js", ["x=", "`${", "1", "}`", ""]),
    ("patterns", "js", ["let ", "{a:", "b", "}", "=c"]),
    ("patterns of arrays", "js", ["let ", "[", "b", "]", "=c"]),
    ("elements", "tsx", ["x=", "<a>", "t", "</a>", ""]),
    (
        "elements with texts",
        "tsx",
        ["x=", "<a>don't, it; ", "t", "</a>", ""],
    ),
    (
        "elements in attributes",
        "tsx",
        ["x=", "<a b=", "<c/>", "/>", ""],
    ),
    (
        "elements in braces",
        "tsx",
        ["x=", "<a>{", "t", "}</a>", ""],
    ),
    ("type arguments", "ts", ["type X=", "A<", "B", ">", ""]),
    (
        "two type arguments",
        "ts",
        ["type X=", "A<B,", "C", ">", ""],
    ),
    (
        "conditional types",
        "ts",
        ["type X=", "A extends B?C:", "D", "", ""],
    ),
    ("keyof", "ts", ["type X=", "keyof ", "A", "", ""]),
    ("readonly", "ts", ["type X=", "readonly ", "A[]", "", ""]),
    (
        "function types",
        "ts",
        ["type X=", "(a:A,b:B)=>", "C", "", ""],
    ),
    (
        "constructor types",
        "ts",
        ["type X=", "new(a:A,b:B)=>", "C", "", ""],
    ),
    ("array types", "ts", ["type X=A", "[]", "", "", ""]),
    ("indexed types", "ts", ["type X=A", "['b']", "", "", ""]),
    ("tuples", "ts", ["type X=", "[A,", "B", "]", ""]),
    ("object types", "ts", ["type X=", "{a:", "B", "}", ""]),
    ("unions", "ts", ["type X=", "A|", "B", "", ""]),
    ("template types", "ts", ["type X=", "`${", "A", "}`", ""]),
    ("type assertions", "ts", ["x=", "<A>", "1", "", ""]),
    ("as", "ts", ["x=1", " as A", "", "", ""]),
    ("namespaces", "ts", ["namespace a", ".a", "{}", "", ""]),
    ("regular expressions", "js", ["x=/", "(", "a", ")", "/"]),
    (
        "regular expressions after braces",
        "js",
        ["x=", "{}/\"/+(", "1", ")", ""],
    ),
];

fn text(construct: &Construct, count: usize) -> String {
    let [start, open, middle, close, end] = construct.2;
    format!(
        "{start}{}{middle}{}{end}\nimport 'node:fs';\n",
        open.repeat(count),
        close.repeat(count)
    )
}

/// Numbers of repetitions of a construct: from ordinary code to more than any parser takes.
const COUNTS: &[usize] = &[20, 700, 5_000, 40_000, 200_000];

fn is_unreadable(graph: &Graph) -> bool {
    let unreadable = [What::Unreadable, What::TooDeep, What::TooCostly];
    let mut openings = graph.openings.iter();
    openings.any(|opening| unreadable.contains(&opening.what))
}

#[test]
fn every_construct_is_read_or_refused_at_any_depth() {
    let sandbox = Sandbox::with_home();
    for construct in CONSTRUCTS {
        for count in COUNTS {
            let (name, extension, _) = construct;
            let file = sandbox.write(&format!("text.{extension}"), &text(construct, *count));
            let began = Instant::now();
            let graph = untrusted_module_graph(&file);
            let took = began.elapsed();
            let is_read = graph.builtins.contains("fs");
            assert!(
                is_read || is_unreadable(&graph),
                "{name} × {count}: neither read nor refused"
            );
            // Ordinary code must be readable.
            let is_sound = *count > 20 || is_read || is_garbage(name) || is_exponential(name);
            assert!(is_sound, "{name} × {count} is refused");
            assert!(
                took < Duration::from_secs(120),
                "{name} × {count}: {took:?}"
            );
        }
    }
}

/// Returns true for constructs that are not valid code at any depth.
fn is_garbage(name: &str) -> bool {
    matches!(name, "regular expressions after braces" | "sums of braces")
}

/// Returns true if the parser's time doubles with each level. The reader's time limit ends it; in
/// the process itself nothing ends it.
fn is_exponential(name: &str) -> bool {
    name == "conditionals with arrows"
}

/// In the process itself, where trusted code is parsed: the process goes on.
#[test]
fn slow_every_construct_is_survived_in_the_process_that_loads_it() {
    let sandbox = Sandbox::with_home();
    for construct in CONSTRUCTS.iter().filter(|it| !is_exponential(it.0)) {
        for count in COUNTS {
            let extension = construct.1;
            let name = format!("{}-{count}", construct.0.replace(' ', "-"));
            sandbox.write(
                &format!("home/.omp/agent/tools/{name}.{extension}"),
                &text(construct, *count),
            );
        }
    }
    let (code, peak) = run_and_measure(&sandbox, &["list", "--json"]);
    assert_eq!(code, Some(0));
    assert!(peak < 4 << 20, "{} MiB", peak >> 10);
}

/// Prints the peak memory in KiB of the program in its arguments, and ends with its exit code.
const MEASURE: &str = "import resource, subprocess, sys\n\
    code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)\n\
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n\
    sys.exit(code)";

/// Runs haft; returns its exit code and its peak memory in KiB. A small process starts it: the peak
/// of a process includes that of the one which forked it, and this one has the isolates of other
/// tests.
fn run_and_measure(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, u64) {
    let mut python = sandbox.command("python3");
    python.args(["-c", MEASURE, env!("CARGO_BIN_EXE_haft")]);
    let ended = python.args(args).stderr(Stdio::null()).output();
    let ended = ended.expect("python3 is on every machine");
    let peak = String::from_utf8_lossy(&ended.stdout);
    (ended.status.code(), peak.trim().parse().expect("a number"))
}

fn arrows() -> String {
    format!("export const x = {}1;\n", "(a,b)=>".repeat(200_000))
}

#[test]
fn hostile_text_is_a_line_on_the_page() {
    let sandbox = Sandbox::with_home();
    sandbox.write(".omp/tools/deep.ts", &arrows());
    let ran = sandbox.sh("haft trust --yes; haft list");
    assert_eq!(ran.code, 0, "{}", ran.output);
    let page = "open: .omp/tools/deep.ts cannot be read as JavaScript: it nests too deeply";
    assert!(ran.output.contains(page), "{}", ran.output);
}

/// The parser runs in a separate process, whose memory limit does not affect the host.
#[test]
fn a_reader_that_crashes_is_a_line_on_the_page() {
    let sandbox = Sandbox::with_home();
    // Sound, shallow, and far more tree than the limit allows.
    let wide = format!("import 'node:fs';\nx=[{}];\n", "{a:[1]},".repeat(1_800_000));
    let file = sandbox.write("wide.ts", &wide);
    let graph = untrusted_module_graph(&file);
    let what: Vec<What> = graph.openings.iter().map(|opening| opening.what).collect();
    assert_eq!(what, [What::TooCostly]);
    // The next file gets a new reader.
    let fine = sandbox.write("fine.ts", "import 'node:fs';\n");
    assert!(untrusted_module_graph(&fine).openings.is_empty());
}

#[test]
fn a_served_project_survives_a_hostile_change() {
    let sandbox = Sandbox::with_home();
    let tool = "export default pi => ({name:'t', description:'d', parameters: pi.zod.object({}),\n\
                async execute(){ return {content:[{type:'text',text:'fine'}]}}});\n";
    let file = sandbox.write(".omp/tools/t.ts", tool);
    let ran = sandbox.sh("haft trust --yes");
    assert_eq!(ran.code, 0, "{}", ran.output);
    let served = Served::start(
        sandbox
            .haft()
            .args(["serve", "rest", "--listen", "127.0.0.1:0"]),
    );
    fs::write(&file, arrows()).expect("a file of ours");
    until("the change is found", || {
        let reply = served.get("/api/tools");
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.body.contains("changed since you trusted it") || !reply.body.contains("\"t\"")
    });
    for command in ["haft list", "haft call t", "haft trust </dev/null"] {
        let ran = sandbox.sh(command);
        assert!(ran.code < 128, "{command}: {}\n{}", ran.code, ran.output);
    }
}

#[test]
fn files_that_never_end_are_not_read() {
    let sandbox = Sandbox::with_home();
    let sparse = sandbox.write("huge.bin.node", "");
    let sparse = fs::File::options()
        .write(true)
        .open(sparse)
        .expect("a file of ours");
    sparse
        .set_len(20 << 30)
        .expect("sparse files are everywhere");
    sandbox.fifo("pipe.ts");
    let imports = "import './huge.bin.node';\nimport '/proc/kmsg';\nimport '/dev/zero';\n\
                   import './pipe.ts';\nimport '/proc/self/environ';\n";
    sandbox.write(".omp/tools/t.ts", &imports.replace("./", "../../"));
    let began = Instant::now();
    let (code, peak) = run_and_measure(&sandbox, &["trust", "--yes"]);
    assert_eq!(code, Some(0));
    assert!(peak < 1 << 20, "{} MiB", peak >> 10);
    assert!(began.elapsed() < Duration::from_secs(60));
    let ran = sandbox.sh("haft trust --yes");
    assert!(
        ran.output.contains("huge.bin.node is larger than 256 MiB"),
        "{}",
        ran.output
    );
    assert!(
        ran.output
            .contains("/proc/kmsg is not a regular file on a disk"),
        "{}",
        ran.output
    );
}

/// A chain of imports costs as much per file as a short one.
#[test]
fn a_long_chain_of_imports_is_not_quadratic() {
    let sandbox = Sandbox::with_home();
    let chain = |folder: &str, length: usize| -> PathBuf {
        for at in 0..length {
            let text = format!("import './m{}.ts';\n", at + 1);
            sandbox.write(&format!("{folder}/m{at}.ts"), &text);
        }
        sandbox.write(&format!("{folder}/m{length}.ts"), "export const x = 1;\n");
        sandbox.path().join(folder).join("m0.ts")
    };
    let time = |entry: &Path| {
        let began = Instant::now();
        let graph = module_graph(entry);
        (graph.modules.len(), began.elapsed())
    };
    let (short, long) = (chain("short", 1_000), chain("long", 16_000));
    let (few, once) = time(&short);
    let (many, sixteen_times) = time(&long);
    assert_eq!((few, many), (1_001, 16_001));
    // Quadratic time would be 256 times as long.
    assert!(sixteen_times < once * 80, "{once:?}, {sixteen_times:?}");
}

#[test]
fn lists_and_folders_of_a_project_are_bounded() {
    let sandbox = Sandbox::with_home();
    let many: Vec<String> = (0..200_000).map(|at| format!("\"/x/{at}\"")).collect();
    let list = many.join(",");
    sandbox.write(
        ".omp/settings.json",
        &format!("{{\"extensions\":[{list}]}}"),
    );
    let patterns: String = (0..200_000).map(|at| format!("x{at}\n")).collect();
    sandbox.write(".omp/tools/.gitignore", &patterns);
    sandbox.write(".omp/tools/t.ts", "export default {}");
    let folder = sandbox.path().join(".claude/tools");
    fs::create_dir_all(&folder).expect("a folder of ours");
    for at in 0..20_500 {
        fs::write(folder.join(format!("t{at}.ts")), "").expect("a folder of ours");
    }
    let began = Instant::now();
    let ran = sandbox.sh("haft list");
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(ran.code, 0, "{}", ran.output);
    for said in [
        "`extensions` has 200000 elements, and only the first 1000 count",
        "the ignore file has more than 5,000 lines or 1 MiB, so it hides nothing",
        "the folder has more than 20000 entries, so none of them counts",
    ] {
        assert!(ran.output.contains(said), "{said}\n{}", ran.output);
    }
}

/// The helper process that parses such text has nothing that it could leak.
#[test]
fn a_helper_has_neither_our_variables_nor_our_descriptors() {
    let inherited = fs::File::open("/proc/self/status").expect("it is there");
    // A short answer: its length is one byte.
    let script = "text=$(env | cut -d= -f1 | sort | tr '\\n' ' '; ls /proc/$$/fd | tr '\\n' ' ')\n\
                  printf \"\\\\$(printf %03o ${#text})\\\\0\\\\0\\\\0%s\" \"$text\"; cat > /dev/null";
    let arguments = ["sh", "-c", script];
    let helper = haft_process::Helper::start(Path::new("/bin/sh"), &arguments, &[]);
    let answer = helper.expect("a shell").ask(b"").expect("it answers");
    drop(inherited);
    let said = String::from_utf8(answer).expect("text");
    // The shell sets `PWD` for itself, and some shells more of this kind.
    let own = ["PWD", "OLDPWD", "SHLVL", "_"];
    let words = said
        .split(' ')
        .filter(|word| !own.contains(word) && !word.is_empty());
    let descriptors: Vec<&str> = words.collect();
    assert!(
        descriptors
            .iter()
            .all(|word| ["0", "1", "2", "3", "10", "255"].contains(word)),
        "{said}"
    );
}
