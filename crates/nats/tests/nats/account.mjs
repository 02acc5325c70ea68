// Makes what `nsc` would: an operator, an account, credentials of a user, and those of a stranger.
//
//   node account.mjs FOLDER

import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { writeFileSync } from "node:fs";

const [folder] = process.argv.slice(2);
const PREFIXES = { O: 14 << 3, A: 0, U: 20 << 3 };
const SEED = 18 << 3;

function base32(bytes) {
  let bits = "";
  for (const byte of bytes) bits += byte.toString(2).padStart(8, "0");
  const letters = bits.match(/.{1,5}/g).map((group) => Number.parseInt(group.padEnd(5, "0"), 2));
  return letters.map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[letter]).join("");
}

function withChecksum(bytes) {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return base32([...bytes, crc & 0xff, crc >> 8]);
}

function key(kind) {
  const pair = generateKeyPairSync("ed25519");
  const { x, d } = pair.privateKey.export({ format: "jwk" });
  const prefix = PREFIXES[kind];
  return {
    privateKey: pair.privateKey,
    public: withChecksum([prefix, ...Buffer.from(x, "base64url")]),
    seed: withChecksum([SEED | (prefix >> 5), (prefix & 31) << 3, ...Buffer.from(d, "base64url")]),
  };
}

function token(issuer, subject, name, nats) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iat: 1_700_000_000, iss: issuer.public, name, sub: subject.public, nats: { ...nats, version: 2 } };
  const jti = base32(createHash("sha256").update(JSON.stringify(claims)).digest());
  const text = `${part({ typ: "JWT", alg: "ed25519-nkey" })}.${part({ jti, ...claims })}`;
  return `${text}.${sign(null, Buffer.from(text), issuer.privateKey).toString("base64url")}`;
}

const limits = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
const operator = key("O");
const account = key("A");
const write = (name, text) => writeFileSync(`${folder}/${name}`, text);

function credentials(name, issuer) {
  const user = key("U");
  const jwt = token(issuer, user, name, { type: "user", subs: -1, data: -1, payload: -1, pub: {}, sub: {} });
  write(
    `${name}.creds`,
    `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n\n` +
      `-----BEGIN USER NKEY SEED-----\n${user.seed}\n------END USER NKEY SEED------\n`,
  );
}

const ofOperator = token(operator, operator, "operator", { type: "operator" });
const ofAccount = token(operator, account, "account", { type: "account", limits });
write(
  "server-auth.conf",
  `operator: ${ofOperator}\nresolver: MEMORY\nresolver_preload: { ${account.public}: ${ofAccount} }\n`,
);
credentials("user", account);
credentials("stranger", key("A"));
