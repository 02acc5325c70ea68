import { createServer } from "node:net";
const failure = async (url: string) => {
  try {
    await fetch(url);
    return {};
  } catch (error: any) {
    const { code, cause } = error;
    return { type: error instanceof TypeError, message: error.message, code, cause: cause.code, syscall: cause.syscall, port: cause.port };
  }
};
export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  async execute() {
    const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
    await new Promise((ready) => server.once("listening", ready));
    const { port } = server.address() as any;
    const reset: any = await failure(`http://127.0.0.1:${port}/`);
    await new Promise((closed) => server.close(closed));
    const refused: any = await failure(`http://127.0.0.1:${port}/`);
    const aborted = await fetch("http://127.0.0.1:1/", { signal: AbortSignal.abort() }).catch((error) => error.name);
    return { content: [{ type: "text", text: [
      `${reset.code} ${reset.cause} ${reset.message.includes("ECONNRESET")}`,
      `${refused.type} ${refused.code} ${refused.cause} ${refused.syscall} ${refused.port === port}`,
      refused.message.replace(port, "PORT"),
      aborted,
    ].join("\n") }] };
  },
});
