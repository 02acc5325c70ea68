// Compiles and runs JavaScript, WebAssembly, a regular expression and a number format, and prints
// what they give.

#include <cstdio>
#include <memory>

#include "libplatform/libplatform.h"
#include "v8.h"

static const char kScript[] = R"js(
  const module = new WebAssembly.Module(new Uint8Array([
    0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100,
    100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11,
  ]));
  const { add } = new WebAssembly.Instance(module).exports;
  const { year } = /(?<year>\d{4})-\d{2}/u.exec("on 2026-11-28").groups;
  // Enough rounds for the optimizing compilers.
  let sum = 0;
  for (let round = 0; round < 1e6; round++) sum = add(sum, round % 3);
  `${sum} ${year} ${new Intl.NumberFormat("de").format(1234.5)}`;
)js";

int main(int argc, char* argv[]) {
  v8::V8::InitializeICUDefaultLocation(argv[0]);
  std::unique_ptr<v8::Platform> platform = v8::platform::NewDefaultPlatform();
  v8::V8::InitializePlatform(platform.get());
  v8::V8::Initialize();
  v8::Isolate::CreateParams params;
  std::unique_ptr<v8::ArrayBuffer::Allocator> allocator(
      v8::ArrayBuffer::Allocator::NewDefaultAllocator());
  params.array_buffer_allocator = allocator.get();
  v8::Isolate* isolate = v8::Isolate::New(params);
  int code = 1;
  {
    v8::Isolate::Scope isolate_scope(isolate);
    v8::HandleScope handle_scope(isolate);
    v8::Local<v8::Context> context = v8::Context::New(isolate);
    v8::Context::Scope context_scope(context);
    v8::TryCatch error(isolate);
    v8::Local<v8::String> source =
        v8::String::NewFromUtf8(isolate, kScript).ToLocalChecked();
    v8::Local<v8::Script> script;
    v8::Local<v8::Value> value;
    if (v8::Script::Compile(context, source).ToLocal(&script) &&
        script->Run(context).ToLocal(&value)) {
      code = 0;
    } else {
      value = error.Exception();
    }
    v8::String::Utf8Value text(isolate, value);
    std::puts(*text ? *text : "?");
  }
  isolate->Dispose();
  v8::V8::Dispose();
  v8::V8::DisposePlatform();
  return code;
}
