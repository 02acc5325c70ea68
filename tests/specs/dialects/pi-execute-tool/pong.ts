import { Type } from "typebox";

export default (pi: any) =>
  pi.registerTool({
    name: "pong",
    label: "pong",
    description: "Calls ping",
    parameters: Type.Object({}),
    execute: (_id: string, _args: any, _signal: any, _onUpdate: any, ctx: any) => ctx.executeTool("ping", {}),
  });
