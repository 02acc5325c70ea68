export default function (agent: any) {
  agent.on("session_start", () => {});
}
