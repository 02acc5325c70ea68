//! Creates one isolate: Deno's worker from our snapshot, with the host's services in it.

use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, Once};

use deno_core::v8;
use deno_resolver::npm::DenoInNpmPackageChecker;
use deno_runtime::deno_io::{Stdio, StdioPipe};
use deno_runtime::deno_web::BlobStore;
use deno_runtime::worker::{MainWorker, WorkerOptions, WorkerServiceOptions};
use deno_runtime::{
    BootstrapOptions, UnconfiguredRuntime, UnconfiguredRuntimeOptions, WorkerExecutionMode,
};
use url::Url;

use super::extension::{self, IsolateHost};
use super::files::BoundedFiles;
use super::graph::module_files;
use super::loader::{Loader, NodeServices, NpmFolders, ReadGuard, Required, Sys, init_services};
use super::lock;
use super::memory::HeapLimit;
use super::op_host::OpHost;
use super::platform::Threads;
use super::transpile_cache::Compiled;
use super::{
    EngineOptions, IsolateKey, access_prompter, code_cache, eval_guard, load_trace, permissions,
    platform, refusal, snapshot, telemetry,
};
use haft_tool::PermissionProfile;

/// A worker and the functions of `js-runtime/90_main.ts` in it.
pub(super) struct Booted {
    pub(super) worker: MainWorker,
    pub(super) functions: Functions,
    pub(super) loader: Rc<Loader>,
}

/// The JavaScript functions that Rust calls.
pub(super) struct Functions {
    pub(super) load: v8::Global<v8::Function>,
    pub(super) invoke: v8::Global<v8::Function>,
    pub(super) prepare: v8::Global<v8::Function>,
    pub(super) start_prepared: v8::Global<v8::Function>,
    pub(super) forget: v8::Global<v8::Function>,
    pub(super) check: v8::Global<v8::Function>,
    pub(super) describe: v8::Global<v8::Function>,
    pub(super) render: v8::Global<v8::Function>,
    pub(super) cancel: v8::Global<v8::Function>,
    pub(super) session: v8::Global<v8::Function>,
}

/// A page of WebAssembly is 64 kB.
const WASM_PAGES_PER_MB: u32 = 16;

/// Limit of the WebAssembly standard for the pages of one memory.
const MAX_WASM_PAGES: u32 = 1 << 16;

/// V8 must be set up once, before the first isolate.
static PLATFORM: Once = Once::new();

/// Serialises the creation of isolates: V8's deserialisation of a snapshot is not thread-safe.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// An isolate that knows no options yet: what Deno calls an unconfigured runtime.
pub(super) struct Unconfigured {
    runtime: UnconfiguredRuntime,
    /// Declared last, because the isolate calls it until its end.
    alarm: Box<HeapLimit>,
}

impl Unconfigured {
    /// Creates an isolate with this limit on the current thread, which it never leaves.
    pub(super) fn new(heap_mb: u32) -> Unconfigured {
        let alarm = HeapLimit::new((heap_mb as usize) << 20);
        let runtime = UnconfiguredRuntime::new::<DenoInNpmPackageChecker, NpmFolders, Sys>(
            UnconfiguredRuntimeOptions {
                startup_snapshot: snapshot::SNAPSHOT,
                residual_lazy_js_sources: snapshot::RESIDUAL_SCRIPTS,
                residual_lazy_esm_sources: snapshot::RESIDUAL_MODULES,
                create_params: Some(create_params(heap_mb, &alarm)),
                shared_array_buffer_store: None,
                compiled_wasm_module_store: None,
                additional_extensions: vec![extension_for_runtime()],
            },
        );
        Unconfigured { runtime, alarm }
    }

    /// Returns the runtime and the limit, which must outlive it.
    pub(super) fn into_parts(self) -> (UnconfiguredRuntime, Box<HeapLimit>) {
        (self.runtime, self.alarm)
    }
}

fn create_params(heap_mb: u32, alarm: &HeapLimit) -> v8::CreateParams {
    v8::CreateParams::default()
        .heap_limits(0, (heap_mb as usize) << 20)
        .array_buffer_allocator(alarm.buffer_allocator())
}

/// Boots an isolate on the current thread, which the isolate never leaves. Takes `unconfigured` as
/// the isolate if there is one.
pub(super) fn boot(
    options: &EngineOptions,
    key: &IsolateKey,
    link: Rc<OpHost>,
    alarm: &HeapLimit,
    unconfigured: Option<UnconfiguredRuntime>,
) -> Result<Booted, String> {
    let _alone = one_at_a_time();
    start_v8(options.heap_mb, Threads::Several);
    extension::set_script_runner(|| options.programs.script_runner());

    let main = main_url(options)?;
    let compiled = Compiled::open(options.cache.as_deref());
    let verifier = options.verifier_of(key.domain).cloned();
    let guard = ReadGuard::new(key.permissions.clone(), module_files);
    let node = Rc::new(NodeServices::guarded(
        compiled.clone(),
        verifier.clone(),
        guard,
        options.debugging.clone(),
    ));
    let loader = Rc::new(Loader::new(node.clone()));
    link.finds_required(Required::new(node.clone()));
    let isolate = match unconfigured {
        Some(runtime) => Isolate::Unconfigured(runtime),
        None => Isolate::New(create_params(options.heap_mb, alarm)),
    };
    let mut worker = make_worker(
        options,
        &key.permissions,
        &main,
        isolate,
        (compiled, node, loader.clone()),
    )?;
    {
        let state = worker.js_runtime.op_state();
        let mut state = state.borrow_mut();
        state.put::<Rc<dyn IsolateHost>>(link);
        extension::begin_with_env(&mut state, &options.env);
    }
    let functions = take_functions(&mut worker, options, &key.permissions)?;
    if let Some(verifier) = verifier {
        eval_guard::install(&mut worker.js_runtime, verifier);
    }
    Ok(Booted {
        worker,
        functions,
        loader,
    })
}

/// Sets V8 up, once in the life of the process. `heap_mb` limits each WebAssembly memory.
pub(super) fn start_v8(heap_mb: u32, threads: Threads) {
    PLATFORM.call_once(|| {
        load_trace::install_recorder();
        access_prompter::install_prompter();
        // The provider may be installed already by the program that embeds us.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        // V8 has a limit for each memory only, not for all memories of an isolate together.
        v8::V8::set_flags_from_string(&format!(
            "--wasm-max-mem-pages={}",
            heap_mb
                .saturating_mul(WASM_PAGES_PER_MB)
                .min(MAX_WASM_PAGES)
        ));
        if threads == Threads::One {
            // The flags stay writable for the seed of random numbers (`reseed`).
            v8::V8::set_flags_from_string("--single-threaded --no-freeze-flags-after-init");
        }
        deno_core::JsRuntime::init_platform(Some(platform::new(threads)));
    });
}

/// Seeds `Math.random` of the isolate of this process, which was forked. Otherwise all forks of one
/// process have the same random numbers.
pub(super) fn reseed() -> Result<(), String> {
    let seed = getrandom::u32().map_err(|error| format!("no random numbers: {error}"))?;
    // Zero would mean that V8 chooses a seed, which it has done before the fork. The flag is signed.
    v8::V8::set_flags_from_string(&format!("--random-seed={}", (seed >> 1) | 1));
    Ok(())
}

/// Returns the lock that is held while an isolate is created.
pub(super) fn one_at_a_time() -> MutexGuard<'static, ()> {
    lock(&ONE_AT_A_TIME)
}

/// Returns the URL that names the isolate in stack traces. Nothing is read from it.
fn main_url(options: &EngineOptions) -> Result<Url, String> {
    Url::from_directory_path(&options.cwd)
        .and_then(|directory| directory.join("haft").map_err(|_| ()))
        .map_err(|()| format!("'{}' is not an absolute path", options.cwd.display()))
}

/// The isolate of a worker.
enum Isolate {
    New(v8::CreateParams),
    Unconfigured(UnconfiguredRuntime),
}

fn make_worker(
    options: &EngineOptions,
    profile: &Arc<PermissionProfile>,
    main: &Url,
    isolate: Isolate,
    (compiled, node, loader): (Option<Arc<Compiled>>, Rc<NodeServices>, Rc<Loader>),
) -> Result<MainWorker, String> {
    let permissions = permissions::of_profile(profile)?;
    let (create_params, unconfigured_runtime) = match isolate {
        Isolate::New(params) => (Some(params), None),
        Isolate::Unconfigured(runtime) => (None, Some(runtime)),
    };
    let worker = MainWorker::bootstrap_from_options(
        main,
        WorkerServiceOptions::<DenoInNpmPackageChecker, NpmFolders, Sys> {
            blob_store: Arc::new(BlobStore::default()),
            broadcast_channel: Default::default(),
            deno_rt_native_addon_loader: None,
            feature_checker: Default::default(),
            fs: Arc::new(BoundedFiles::new(
                options.most_bytes_of_a_file(),
                node.shared_verifier(),
                profile.clone(),
            )),
            module_loader: loader,
            node_services: Some(init_services(&node)),
            npm_process_state_provider: None,
            permissions,
            root_cert_store_provider: None,
            fetch_dns_resolver: Default::default(),
            shared_array_buffer_store: None,
            compiled_wasm_module_store: None,
            v8_code_cache: None,
            bundle_provider: None,
        },
        WorkerOptions {
            bootstrap: BootstrapOptions {
                mode: WorkerExecutionMode::None,
                has_node_modules_dir: true,
                otel_config: telemetry::of_isolates(),
                user_agent: concat!("haft/", env!("CARGO_PKG_VERSION")).to_owned(),
                ..Default::default()
            },
            extensions: vec![extension_for_runtime()],
            startup_snapshot: Some(snapshot::SNAPSHOT),
            residual_lazy_js_sources: snapshot::RESIDUAL_SCRIPTS,
            residual_lazy_esm_sources: snapshot::RESIDUAL_MODULES,
            create_params,
            unconfigured_runtime,
            stdio: detached_stdio()?,
            ..Default::default()
        },
    );
    let scripts = compiled.map(code_cache::of_scripts);
    worker.js_runtime.set_eval_context_code_cache_cbs(scripts);
    Ok(worker)
}

fn extension_for_runtime() -> deno_core::Extension {
    let mut ours = extension::haft::init();
    ours.synthetic_esm_modules = snapshot::HOST_MODULES.into();
    ours
}

/// Returns a tool's standard streams. Reading gives nothing, and writing never reaches the host's
/// own streams. `console` is caught earlier; this is for `process.stdout` and `Deno.stdout`.
fn detached_stdio() -> Result<Stdio, String> {
    let null = || {
        std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/null")
            .map(StdioPipe::file)
            .map_err(|error| format!("cannot open /dev/null: {error}"))
    };
    Ok(Stdio {
        stdin: null()?,
        stdout: null()?,
        stderr: null()?,
    })
}

/// Removes from the global object what neither Node nor Bun has there.
///
/// Deno's own modules find `Deno` among the variables of scripts; `loader::globals` keeps that
/// variable from tools. Text that is evaluated can reach it. So the members that only Deno's own
/// tests need are deleted: with `core` a tool could act in the name of another call.
const HIDE_DENO: &str = "const Deno = globalThis.Deno; delete globalThis.Deno; \
     delete Deno[Deno.internal]; delete Deno.internal; \
     delete globalThis.localStorage; delete globalThis.sessionStorage;";

/// Takes the functions off the global object, where a tool would find them, and starts the runtime.
fn take_functions(
    worker: &mut MainWorker,
    options: &EngineOptions,
    profile: &PermissionProfile,
) -> Result<Functions, String> {
    let context = worker.js_runtime.main_context();
    deno_core::scope!(scope, &mut worker.js_runtime);
    let context = v8::Local::new(scope, context);
    let global = context.global(scope);
    let key = v8::String::new(scope, "__haft").ok_or("V8 is out of memory")?;
    let door: v8::Local<v8::Object> = global
        .get(scope, key.into())
        .and_then(|value| value.try_into().ok())
        .ok_or("the snapshot lacks haft's runtime")?;
    global.delete(scope, key.into());

    let start = function(scope, door, "start")?;
    let settings = serde_json::json!({
        "cwd": options.cwd,
        "sessionId": options.session_id,
        "autoApprove": options.auto_approve,
        "version": env!("CARGO_PKG_VERSION"),
        "hasTape": options.tape.is_some(),
        "refusals": refusal::texts(profile),
    });
    let settings = v8::String::new(scope, &settings.to_string()).ok_or("V8 is out of memory")?;
    start.call(scope, door.into(), &[settings.into()]);
    let hide = v8::String::new(scope, HIDE_DENO).ok_or("V8 is out of memory")?;
    v8::Script::compile(scope, hide, None)
        .and_then(|script| script.run(scope))
        .ok_or("V8 cannot hide what is Deno's own")?;

    let mut take =
        |name: &str| function(scope, door, name).map(|found| v8::Global::new(scope, found));
    Ok(Functions {
        load: take("load")?,
        invoke: take("invoke")?,
        prepare: take("prepare")?,
        start_prepared: take("startPrepared")?,
        forget: take("forget")?,
        check: take("check")?,
        describe: take("describe")?,
        render: take("render")?,
        cancel: take("cancel")?,
        session: take("session")?,
    })
}

fn function<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    door: v8::Local<'s, v8::Object>,
    name: &str,
) -> Result<v8::Local<'s, v8::Function>, String> {
    let key = v8::String::new(scope, name).ok_or("V8 is out of memory")?;
    door.get(scope, key.into())
        .and_then(|value| value.try_into().ok())
        .ok_or_else(|| format!("haft's runtime lacks the function `{name}`"))
}
