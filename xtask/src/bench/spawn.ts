// Starts `true` many times, one after the other, and says how many microseconds one took.
export default (pi: any) => ({
  name: "spawn_loop",
  label: "Spawn loop",
  description: "Measures how long a child process takes",
  parameters: pi.zod.object({ count: pi.zod.number().int().min(1) }),

  async execute(_callId: string, params: any) {
    await pi.exec("true", []);
    const started = performance.now();
    for (let done = 0; done < params.count; done += 1) {
      const result = await pi.exec("true", []);
      if (result.code !== 0) throw new Error(`true ended with ${result.code}`);
    }
    const mean = ((performance.now() - started) * 1000) / params.count;
    return { content: [{ type: "text", text: mean.toFixed(1) }] };
  },
});
