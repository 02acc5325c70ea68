// swatch: answers with a picture.
//
// A content block may be an image: base64 `data` and a `mimeType`. The PNG is written by hand, which
// takes no more than `node:zlib`: a signature and three chunks, each with its length, its name and a
// checksum. Models that cannot see still get the text block.

import { deflateSync } from "node:zlib";
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** A square of one colour, 8 bits per channel, without alpha. */
function png(size: number, rgb: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 2, 0, 0, 0], 8);
  // Each row starts with its filter type: 0, none.
  const row = Buffer.concat([Buffer.from([0]), ...Array(size).fill(rgb)]);
  // Level 0 stores without compressing, so that the picture is the same bytes on every platform.
  const pixels = deflateSync(Buffer.concat(Array(size).fill(row)), { level: 0 });
  return Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))]);
}

const factory: CustomToolFactory = (pi) => ({
  name: "swatch",
  label: "Swatch",
  description: "Shows a colour as a small picture",
  parameters: pi.zod.object({
    colour: pi.zod.string().regex(/^#[0-9a-f]{6}$/, "must look like #1e90ff"),
    size: pi.zod.number().int().min(1).max(64).default(8),
  }),
  async execute(_id, { colour, size }) {
    const data = png(size, Buffer.from(colour.slice(1), "hex")).toString("base64");
    return {
      content: [
        { type: "text", text: `${colour}, ${size} by ${size} pixels` },
        { type: "image", data, mimeType: "image/png" },
      ],
    };
  },
});

export default factory;
