import { readFileSync, writeFileSync } from "node:fs";
import os from "node:os";

export default (pi) => ({
    name: "look",
    description: "Reads a file, writes one beside it, or fetches a page",
    parameters: pi.zod.object({ read: pi.zod.string().optional(), fetch: pi.zod.string().optional(), cat: pi.zod.string().optional() }),
    async execute(_id, { read, fetch: url, cat }) {
        if (cat) {
            const { stdout, stderr } = await pi.exec("cat", [cat]);
            return { content: [{ type: "text", text: stdout + stderr }] };
        }
        if (url) await fetch(url);
        if (read) return { content: [{ type: "text", text: readFileSync(read, "utf8") }] };
        writeFileSync("made", "in the project");
        writeFileSync(`${os.tmpdir()}/made`, "in a private folder");
        return { content: [{ type: "text", text: readFileSync("made", "utf8") }] };
    },
});
