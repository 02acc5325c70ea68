// Bun's side of the bench: the least that gives the same answers. `list FILE…` or `call FILE JSON`.
import { z } from "zod";

const exec = async (command: string, args: string[]) => {
  const child = Bun.spawn([command, ...args], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, code, killed: false };
};

const load = async (file: string) => {
  const { default: factory } = await import(file);
  return await factory({ zod: z, exec, cwd: process.cwd() });
};

const [action, ...rest] = process.argv.slice(2);
if (action === "list") {
  for (const file of rest) {
    const tool = await load(file);
    console.log(`${tool.name}  ${tool.description}`);
  }
} else {
  const [file, json] = rest;
  const tool = await load(file);
  const params = tool.parameters.parse(JSON.parse(json));
  const result = await tool.execute("call-1", params, undefined, {}, undefined);
  console.log(result.content[0].text);
}
