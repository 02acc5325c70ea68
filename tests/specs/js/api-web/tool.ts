export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    const bytes = new TextEncoder().encode("abc");
    const digest = Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex").slice(0, 8);
    const stream = new Response(new Blob(["a", "b"]).stream().pipeThrough(new TextDecoderStream()).pipeThrough(new TextEncoderStream()));
    const stop = new AbortController();
    const stopped = new Promise((done) => stop.signal.addEventListener("abort", () => done(stop.signal.reason.name)));
    stop.abort(new DOMException("enough", "AbortError"));
    const order: string[] = [];
    await new Promise<void>((done) => {
      setTimeout(() => order.push("timeout"), 0);
      setImmediate(() => order.push("immediate"));
      setTimeout(done, 20);
      queueMicrotask(() => order.push("microtask"));
      process.nextTick(() => order.push("tick"));
    });
    const facts = {
      digest,
      stream: await stream.text(),
      stopped: await stopped,
      order: [order.slice(0, 2).sort().join(), order.slice(2).sort().join()],
      clone: structuredClone(new Map([[1, { deep: new Date(0) }]])).get(1)!.deep.getTime(),
      url: new URL("../b?c=d e", "https://x.example/a/").href,
      data: await (await fetch("data:text/plain,hello")).text(),
      form: [...new FormData().entries()].length,
      uuid: crypto.randomUUID().length,
      base64: atob(btoa("x")),
      same: globalThis === global,
      platform: process.platform.length > 0 && process.pid > 0 && process.env.HOME !== undefined,
      cwd: process.cwd() === pi.cwd,
    };
    return { content: [{ type: "text", text: JSON.stringify(facts) }] };
  },
});
