// Runs a command while a weather service is listening, and ends as the command ends.
//
// The service takes any free port of the loopback interface; its address is in $SERVICE. It starts
// the command only once it listens, so nobody has to wait or to guess.

import { spawn } from "node:child_process";
import { createServer } from "node:http";

const skies = ["sun", "clouds", "rain"];

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  const city = searchParams.get("city");
  if (pathname !== "/forecast" || city === "Atlantis") {
    response.writeHead(404, { "content-type": "text/plain" }).end(`no weather for ${city}\n`);
    return;
  }
  const days = Array.from({ length: Number(searchParams.get("days")) }, (_, day) => ({
    sky: skies[day % skies.length],
    celsius: 20 - day,
  }));
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ city, days }));
});

server.listen(0, "127.0.0.1", () => {
  const [command, ...args] = process.argv.slice(2);
  const service = `http://127.0.0.1:${server.address().port}`;
  const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, SERVICE: service } });
  child.on("close", (code) => {
    process.exitCode = code ?? 1;
    server.closeAllConnections();
    server.close();
  });
});
