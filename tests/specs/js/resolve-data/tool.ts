import json, { list } from "./data.json";
import again from "./data.json" with { type: "json" };
import yaml from "./data.yaml";
import yml from "./more.yml";
import toml from "./data.toml";
import text from "./data.txt";
import markdown from "./notes.md" with { type: "text" };

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify({ json, list, same: again.list[1], yaml, yml, toml, text, markdown }) }] };
  },
});
