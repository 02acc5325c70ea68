// opencode: `opencode run`, and the server that its terminal interface talks to.

import { Printing } from "../session.mjs";

const MODEL = "judge-model";

export const opencode = {
  name: "opencode",
  id: "opencode",
  program: "opencode",
  limits: {
    progress: {
      shows: /sees nothing/,
      why: "progress only keeps a call from timing out (anomalyco/opencode#26328)",
    },
    question: { shows: /there is no user interface/, why: "it declares no elicitation" },
  },

  prepare(place) {
    const model = {
      name: MODEL,
      attachment: true,
      tool_call: true,
      modalities: { input: ["text", "image"], output: ["text"] },
      limit: { context: 200_000, output: 8_000 },
    };
    place.write(".config/opencode/opencode.json", {
      autoupdate: false,
      share: "disabled",
      model: `judge/${MODEL}`,
      small_model: `judge/${MODEL}`,
      provider: {
        judge: {
          npm: "@ai-sdk/anthropic",
          name: "judge",
          options: { baseURL: `${place.url}/v1`, apiKey: "judge" },
          models: { [MODEL]: model },
        },
      },
    });
  },

  env: { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" },

  once(path, place, prompt) {
    return new Printing(path, ["run", prompt], place, this.env);
  },

  async open(path, place, timeout) {
    const session = new Printing(path, ["serve", "--port", "0"], place, this.env);
    await session.sees("listening on http://", timeout);
    const [url] = /http:\/\/[\d.]+:\d+/.exec(session.seen);
    const post = async (path, body) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(url + path, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return response;
    };
    follow(session, `${url}/event`);
    const { id } = await (await post("/session", {})).json();
    return Object.assign(session, {
      submit: (prompt) =>
        post(`/session/${id}/prompt_async`, { parts: [{ type: "text", text: prompt }] }),
      interrupt: () => post(`/session/${id}/abort`, {}),
    });
  },
};

/** Shows the events that its terminal interface gets, until the server ends. */
async function follow(session, url) {
  try {
    const response = await fetch(url);
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) session.show(text);
  } catch {
    // The server has ended.
  }
}
