// `Bun.hash`: wyhash, and the two checksums that are used beside it.
//
// Not for secrets. The numbers are the same as Bun's, because tools keep them in files.

import { builtin } from "../builtin.ts";
import { bytesToHash } from "./streams.ts";

const MASK = (1n << 64n) - 1n;
const SECRET = [
  0xa0761d6478bd642fn,
  0xe7037ed1a0b428dbn,
  0x8ebc6af09c88c6e3n,
  0x589965cc75374cc3n,
] as const;
const BLOCK = 48;

function wyhash(data: unknown, seed: number | bigint = 0): bigint {
  const input = bytesToHash(data);
  const view = new DataView(input.buffer, input.byteOffset, input.length);
  const read64 = (at: number) => view.getBigUint64(at, true);
  const start = BigInt.asUintN(64, BigInt(seed));
  const first = start ^ mix(start ^ SECRET[0], SECRET[1]);

  let state = first;
  let [a, b] = shortParts(input, view);
  if (input.length > 16) {
    const done = wholeBlocks(input.length);
    if (input.length >= BLOCK) state = blocks(read64, done, first);
    for (let at = done; at + 16 < input.length; at += 16) {
      state = mix(read64(at) ^ SECRET[1], read64(at + 8) ^ state);
    }
    a = read64(input.length - 16);
    b = read64(input.length - 8);
  }
  const product = (a ^ SECRET[1]) * (b ^ state);
  return mix((product & MASK) ^ SECRET[0] ^ BigInt(input.length), (product >> 64n) ^ SECRET[1]);
}

/** The last block is always left to the end, even where it is whole. */
function wholeBlocks(length: number): number {
  return length >= BLOCK ? Math.floor((length - 1) / BLOCK) * BLOCK : 0;
}

function blocks(read64: (at: number) => bigint, end: number, first: bigint): bigint {
  const states = [first, first, first];
  for (let at = 0; at < end; at += BLOCK) {
    for (let lane = 0; lane < 3; lane++) {
      const place = at + 16 * lane;
      const secret = SECRET[lane + 1] as bigint;
      states[lane] = mix(read64(place) ^ secret, read64(place + 8) ^ (states[lane] as bigint));
    }
  }
  return states.reduce((all, state) => all ^ state);
}

function shortParts(input: Uint8Array, view: DataView): [bigint, bigint] {
  const length = input.length;
  if (length > 16 || length === 0) return [0n, 0n];
  const byte = (at: number) => BigInt(input[at] as number);
  if (length < 4) return [(byte(0) << 16n) | (byte(length >> 1) << 8n) | byte(length - 1), 0n];
  const word = (at: number) => BigInt(view.getUint32(at, true));
  const quarter = (length >> 3) << 2;
  const end = length - 4;
  return [(word(0) << 32n) | word(quarter), (word(end) << 32n) | word(end - quarter)];
}

function mix(a: bigint, b: bigint): bigint {
  const product = a * b;
  return (product & MASK) ^ (product >> 64n);
}

const crc32 = (data: unknown, seed?: number): number =>
  builtin("node:zlib").crc32(bytesToHash(data), seed);

function adler32(data: unknown): number {
  let low = 1;
  let high = 0;
  for (const byte of bytesToHash(data)) {
    low = (low + byte) % 65521;
    high = (high + low) % 65521;
  }
  return high * 65536 + low;
}

export const hash = Object.assign((data: unknown, seed?: number | bigint) => wyhash(data, seed), {
  adler32,
  crc32,
  wyhash,
});
