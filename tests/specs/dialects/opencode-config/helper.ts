// A tool of oh-my-pi with a helper whose parameter looks like the input of a plugin.
export function clean({ directory }: { directory: string }) {
  throw new Error(`cleans ${directory}`);
}
export default () => ({ name: "plain", description: "Plain", parameters: { type: "object" }, execute: async () => ({ content: [{ type: "text", text: "plain" }] }) });
