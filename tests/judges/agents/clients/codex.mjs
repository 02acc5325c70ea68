// Codex: `codex exec`, and the app server that its terminal interface and its editors talk to.

import { Printing, Rpc } from "../session.mjs";

export const codex = {
  name: "Codex",
  id: "codex",
  program: "codex",
  limits: {
    progress: {
      shows: /sees nothing/,
      why: "progress goes to its log only (openai/codex#28003)",
    },
    "hot reload": {
      shows: /in none of 5 requests/,
      why: "it ignores tools/list_changed while its feature mcp_tool_list_changed is off (openai/codex#37417)",
    },
  },

  prepare(place) {
    // A provider of one's own, and an entry that the user has begun: haft is to complete it.
    place.write(
      ".codex/config.toml",
      `model = "judge-model"
model_provider = "judge"
approval_policy = "on-request"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.judge]
name = "judge"
base_url = "${place.url}/v1"
wire_api = "responses"

[mcp_servers.haft]
default_tools_approval_mode = "approve"
`,
    );
  },

  once(path, place, prompt) {
    return new Printing(path, ["exec", "--skip-git-repo-check", prompt], place, {});
  },

  async open(path, place, _timeout) {
    const session = new Rpc(path, ["app-server"], place, {});
    const asked = [];
    let turn;
    session.onMessage = ({ id, method, params }) => {
      if (method === "turn/started") turn = params.turn.id;
      if (method === "mcpServer/elicitation/request") asked.push(id);
    };
    await session.call("initialize", { clientInfo: { name: "judge", title: null, version: "1" } });
    session.send({ method: "initialized" });
    const { thread } = await session.call("thread/start", { cwd: place.project });
    const threadId = thread.id;
    return Object.assign(session, {
      submit: (prompt) =>
        session.call("turn/start", { threadId, input: [{ type: "text", text: prompt }] }),
      async agree() {
        const id = asked.shift();
        session.send({
          id,
          result: { action: "accept", content: { confirmed: true }, _meta: null },
        });
      },
      interrupt: () => session.call("turn/interrupt", { threadId, turnId: turn }),
    });
  },
};
