// Reads the result of a call from standard input and takes its picture apart again.

import { inflateSync } from "node:zlib";

let text = "";
for await (const piece of process.stdin) text += piece;
const { mimeType, data } = JSON.parse(text).content.find((block) => block.type === "image");

const bytes = Buffer.from(data, "base64");
const size = bytes.readUInt32BE(16);
const pixels = inflateSync(bytes.subarray(41, 41 + bytes.readUInt32BE(33)));
console.log(`${mimeType}: ${size} pixels wide, first pixel ${pixels.subarray(1, 4).toString("hex")}`);
