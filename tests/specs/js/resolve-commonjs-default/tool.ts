import greet, * as q from "q";
import bare from "bare";
import typed from "typed";
import plain, { named } from "plain";
import { fromMjs } from "./importer.mjs";

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  async execute() {
    const later = (await import("q")).default;
    const text = JSON.stringify({
      default: greet(),
      later: later(),
      namespace: [q.default === greet, q.named],
      fromMjs,
      withoutDefault: bare.named,
      inModulePackage: typed.default(),
      plain: [plain(), named],
      required: Object.keys(require("q")),
    });
    return { content: [{ type: "text", text }] };
  },
});
