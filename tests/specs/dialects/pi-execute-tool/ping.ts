import { Type } from "typebox";

export default (pi: any) =>
  pi.registerTool({
    name: "ping",
    label: "ping",
    description: "Calls pong",
    parameters: Type.Object({}),
    execute: (_id: string, _args: any, _signal: any, _onUpdate: any, ctx: any) => ctx.executeTool("pong", {}),
  });
