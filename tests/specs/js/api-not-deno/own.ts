const Deno = { own: true };
export default () => ({ name: "own", description: "d", parameters: {}, execute: () => ({ content: [{ type: "text", text: `${Deno.own}` }] }) });
