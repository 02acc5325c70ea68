import { helper } from "./helper";
import { packaged } from "packaged";
import { mapped } from "@lib/mapped";

const own = "tool";

export default (pi: any) => ({
  name: "texts",
  description: [own, helper, packaged, mapped].join(" "),
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `Hello, ${params.name}!` }] }),
});
