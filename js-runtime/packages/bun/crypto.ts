// `Bun.CryptoHasher` and its one-word relatives, over `node:crypto`.

import { builtin } from "../builtin.ts";
import { bytesToHash } from "./streams.ts";

type Encoding = "hex" | "base64" | "base64url";
type Data = string | ArrayBufferLike | ArrayBufferView;
type Hasher = ReturnType<typeof import("node:crypto")["createHash"]>;

/** A hash, or an HMAC where there is a key. */
export class CryptoHasher {
  readonly algorithm: string;
  readonly #hash: Hasher;

  constructor(algorithm: string, key?: Data, hash?: Hasher) {
    const { createHash, createHmac } = builtin("node:crypto");
    this.algorithm = algorithm;
    const keyed = () => createHmac(algorithm, bytesToHash(key)) as unknown as Hasher;
    this.#hash = hash ?? (key === undefined ? createHash(algorithm) : keyed());
  }

  static hash(algorithm: string, data: Data, encoding?: Encoding): any {
    return new CryptoHasher(algorithm).update(data).digest(encoding);
  }

  static get algorithms(): string[] {
    return builtin("node:crypto").getHashes();
  }

  update(data: Data): this {
    this.#hash.update(bytesToHash(data));
    return this;
  }

  /** Text in an encoding, otherwise bytes. */
  digest(encoding?: Encoding): any {
    return encoding === undefined ? this.#hash.digest() : this.#hash.digest(encoding);
  }

  copy(): CryptoHasher {
    return new CryptoHasher(this.algorithm, undefined, this.#hash.copy());
  }
}

function named(algorithm: string) {
  return class extends CryptoHasher {
    constructor() {
      super(algorithm);
    }
    static override hash(data: any, encoding?: any): any {
      return CryptoHasher.hash(algorithm, data, encoding);
    }
  };
}

export const MD5 = named("md5");
export const SHA1 = named("sha1");
export const SHA256 = named("sha256");
export const SHA384 = named("sha384");
export const SHA512 = named("sha512");

/** SHA-512/256, as `Bun.sha`. */
export function sha(data: Data, encoding?: Encoding): any {
  return CryptoHasher.hash("sha512-256", data, encoding);
}
