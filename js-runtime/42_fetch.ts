// `fetch` whose failures say what went wrong.
//
// Deno's error is "fetch failed", and the reason is in the text of its cause. Models read the message and
// programs the code, so both get what Node's causes have: `connect ECONNREFUSED 127.0.0.1:1`.

const { defineProperty } = Object;

interface Reason {
  code: string;
  message: string;
  syscall?: string;
  errno?: number;
  hostname?: string;
  address?: string;
  port?: number;
}

/** Puts the reasons into the errors; called once when the isolate starts. */
export function explainFetch(): void {
  const live = globalThis.fetch;
  replaceFetch(async (input, init) => {
    try {
      return await live(input, init);
    } catch (error) {
      explain(error, input);
      throw error;
    }
  });
}

export type Fetch = (input: any, init?: any) => Promise<Response>;

/** Puts a function in the place of the global `fetch`. */
export function replaceFetch(replacement: Fetch): void {
  defineProperty(replacement, "name", { value: "fetch" });
  defineProperty(globalThis, "fetch", {
    value: replacement,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

// What cannot be explained is thrown as it was.
function explain(error: any, input: any): void {
  try {
    if (!(error instanceof TypeError) || error.message !== "fetch failed") return;
    const cause = error.cause as any;
    const detail = `${cause?.message ?? ""}`;
    if (detail === "") return;
    const reason = reasonOf(detail, new URL(input?.url ?? input));
    error.message = `fetch failed: ${reason?.message ?? lastOf(detail)}`;
    if (reason === undefined) return;
    Object.assign(cause, reason);
    Object.assign(error, { code: reason.code });
  } catch {}
}

/** The innermost of `a: b: c`. */
function lastOf(detail: string): string {
  const at = detail.lastIndexOf(": ");
  return at < 0 ? detail : detail.slice(at + 2);
}

const CERTIFICATES: [RegExp, string][] = [
  [/expired/i, "CERT_HAS_EXPIRED"],
  [/not valid for name|NotValidForName/i, "ERR_TLS_CERT_ALTNAME_INVALID"],
  [/UnknownIssuer|self.signed/i, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
];

function reasonOf(detail: string, url: URL): Reason | undefined {
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (/dns error|failed to lookup address/i.test(detail)) {
    const isTemporary = /temporary failure|try again/i.test(detail);
    const code = isTemporary ? "EAI_AGAIN" : "ENOTFOUND";
    return { code, message: `getaddrinfo ${code} ${hostname}`, syscall: "getaddrinfo", hostname };
  }
  const number = /\(os error (\d+)\)/.exec(detail)?.[1];
  if (number !== undefined) return ofSystem(Number(number), detail, hostname, url);
  if (/certificate/i.test(detail)) {
    const found = CERTIFICATES.find(([pattern]) => pattern.test(detail));
    const code = found?.[1] ?? "ERR_TLS_CERT";
    return { code, message: `${code} ${hostname}: ${lastOf(detail)}`, hostname };
  }
  if (
    /connection closed before message completed|unexpected end of file|unexpected eof/i.test(detail)
  ) {
    return {
      code: "ECONNRESET",
      message: `ECONNRESET ${url.host}: the other side closed the connection`,
    };
  }
  if (/timed out/i.test(detail)) {
    return { code: "ETIMEDOUT", message: `connect ETIMEDOUT ${url.host}`, syscall: "connect" };
  }
  return undefined;
}

function ofSystem(number: number, detail: string, address: string, url: URL): Reason {
  const { getSystemErrorName } = (globalThis as any).process.getBuiltinModule("node:util");
  const code = getSystemErrorName(-number) ?? `E${number}`;
  const syscall = /tcp connect|\(Connect\)/i.test(detail) ? "connect" : "read";
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  const place = address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
  return { code, message: `${syscall} ${code} ${place}`, syscall, errno: -number, address, port };
}
