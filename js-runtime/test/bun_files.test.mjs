// `Bun.file`, `Bun.write` and the helpers, against real files. Expected values are Bun 1.4.5's.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { load } from "./packages_host.mjs";

const bun = load("bun");
let folder;
const at = (...names) => join(folder, ...names);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "haft-bun-files-"));
});
after(() => rm(folder, { recursive: true }));

describe("write", () => {
  const cases = [
    ["text", "héllo", 6, "héllo"],
    ["bytes", new Uint8Array([104, 105]), 2, "hi"],
    ["a buffer", new Uint8Array([104, 105]).buffer, 2, "hi"],
    ["a blob", new Blob(["blob"]), 4, "blob"],
    ["a response", new Response("resp"), 4, "resp"],
    ["a stream", new Blob(["stream"]).stream(), 6, "stream"],
    ["parts", ["a", new Blob(["b"]), new Uint8Array([99])], 3, "abc"],
  ];
  for (const [name, data, bytes, text] of cases) {
    test(name, async () => {
      const path = at("made", name, "out.txt");
      assert.equal(await bun.write(path, data), bytes);
      assert.equal(await readFile(path, "utf8"), text);
    });
  }

  test("takes files and URLs on both sides", async () => {
    await bun.write(pathToFileURL(at("one.txt")), "one");
    assert.equal(await bun.write(bun.file(at("two.txt")), bun.file(at("one.txt"))), 3);
    assert.equal(await bun.file(pathToFileURL(at("two.txt"))).text(), "one");
  });

  test("refuses what has no bytes, and folders that shall not be made", async () => {
    await assert.rejects(bun.write(at("x"), { a: 1 }), /not Object/);
    await assert.rejects(bun.write(at("no", "x"), "y", { createPath: false }), { code: "ENOENT" });
    await assert.rejects(bun.write(7, "y"), /expected a path or a file: URL, not 7/);
  });
});

describe("file", () => {
  test("reads in every form", async () => {
    await bun.write(at("a.json"), '{"a":1}');
    const file = bun.file(at("a.json"));
    assert.equal(await file.text(), '{"a":1}');
    assert.deepEqual(await file.json(), { a: 1 });
    assert.deepEqual(await file.bytes(), new TextEncoder().encode('{"a":1}'));
    assert.equal((await file.arrayBuffer()).byteLength, 7);
    assert.equal(await bun.readableStreamToText(file.stream()), '{"a":1}');
    assert.deepEqual(await new Response(file.stream()).json(), { a: 1 });
  });

  test("is a blob that knows its facts", async () => {
    await bun.write(at("b.txt"), "héllo");
    const file = bun.file(at("b.txt"));
    assert.ok(file instanceof Blob);
    assert.deepEqual(
      [file.size, file.type, file.name],
      [6, "text/plain;charset=utf-8", at("b.txt")],
    );
    assert.equal(file.lastModified, Math.trunc((await stat(at("b.txt"))).mtimeMs));
    assert.equal((await file.stat()).size, 6);
    assert.equal(bun.file("x", { type: "a/b" }).type, "a/b");
  });

  test("slices without reading", async () => {
    await bun.write(at("c.txt"), "0123456789");
    const file = bun.file(at("c.txt"));
    assert.deepEqual([await file.slice(2, 5).text(), file.slice(2, 5).size], ["234", 3]);
    assert.equal(await file.slice(2, 8).slice(1, 3).text(), "34");
    assert.equal(await file.slice(-3).text(), "789");
    assert.equal(await file.slice(8, 100).text(), "89");
  });

  test("may be missing until it is read", async () => {
    const file = bun.file(at("missing.json"));
    assert.deepEqual(
      [file.size, await file.exists(), file.lastModified],
      [0, false, 4503599627370495],
    );
    await assert.rejects(file.text(), { code: "ENOENT" });
    await assert.rejects(bun.readableStreamToText(file.stream()), { code: "ENOENT" });
    assert.equal(await bun.file(folder).exists(), false);
  });

  test("is written piece by piece, and deleted", async () => {
    const file = bun.file(at("d.txt"));
    const writer = file.writer();
    assert.equal(writer.write("one "), 4);
    assert.equal(writer.write(new Uint8Array([50])), 1);
    assert.equal(await writer.flush(), 5);
    assert.equal(await writer.end(), 5);
    assert.equal(await file.text(), "one 2");
    await file.delete();
    assert.equal(await file.exists(), false);
  });

  test("a writer says that it cannot write", async () => {
    const writer = bun.file(at("no", "such", "folder")).writer();
    writer.write("x");
    await assert.rejects(writer.end(), { code: "ENOENT" });
  });

  test("types follow the extension", () => {
    const types = ["a.ts", "a.html", "a.md", "a.png", "a.yaml", "a"].map(
      (name) => bun.file(name).type,
    );
    assert.deepEqual(types, [
      "text/javascript;charset=utf-8",
      "text/html;charset=utf-8",
      "text/markdown",
      "image/png",
      "text/yaml",
      "application/octet-stream",
    ]);
  });
});

describe("Glob", () => {
  const cases = [
    ["*.ts", "a.ts", true],
    ["*.ts", "a/b.ts", false],
    ["**/*.ts", "b.ts", true],
    ["**/*.ts", "a/b/c.ts", true],
    ["a/**/b", "a/b", true],
    ["a/**", "a/b/c", true],
    ["*.{ts,js}", "a.js", true],
    ["*.{ts,js}", "a.css", false],
    ["a?c", "abc", true],
    ["a?c", "a/c", false],
    ["[a-c]x", "bx", true],
    ["[!a]x", "bx", true],
    ["[!a]x", "ax", false],
    ["!a", "b", true],
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["a.b", "axb", false],
    ["(a|b)+", "(a|b)+", true],
    ["", "a", false],
  ];
  for (const [pattern, path, expected] of cases) {
    test(`${pattern} and ${path}`, () => assert.equal(new bun.Glob(pattern).match(path), expected));
  }

  test("scans folders", async () => {
    const root = at("globbed");
    await mkdir(join(root, "sub", ".hidden"), { recursive: true });
    for (const name of ["a.ts", "b.js", "sub/c.ts", "sub/.hidden/d.ts", ".e.ts"]) {
      await writeFile(join(root, name), "");
    }
    await symlink("sub", join(root, "link"));
    const scan = (pattern, options) =>
      [...new bun.Glob(pattern).scanSync({ cwd: root, ...options })].sort();
    assert.deepEqual(scan("**/*.ts"), ["a.ts", "sub/c.ts"]);
    assert.deepEqual(scan("*.ts", { dot: true }), [".e.ts", "a.ts"]);
    assert.deepEqual(scan("**/*.ts", { dot: true }), [
      ".e.ts",
      "a.ts",
      "sub/.hidden/d.ts",
      "sub/c.ts",
    ]);
    assert.deepEqual(scan("*/*.ts", { followSymlinks: true }), ["link/c.ts", "sub/c.ts"]);
    assert.deepEqual(
      scan("*", { onlyFiles: false, absolute: true }),
      ["a.ts", "b.js", "link", "sub"].map((name) => join(root, name)),
    );
    for await (const path of new bun.Glob("*.js").scan(root)) assert.equal(path, "b.js");
    assert.deepEqual([...new bun.Glob("*").scanSync(join(root, "nothing"))], []);
  });
});

// Length of the text, hash, and hash with the seed 42, printed by Bun.
const WYHASH = [
  [0, 290873116282709081n, 8214933296199428989n],
  [1, 2941419223392617777n, 11222585245866501501n],
  [2, 13590985366118106092n, 3448462916943561917n],
  [3, 190542993387777138n, 8258829792373922615n],
  [4, 5251164938674970899n, 2762445198617340465n],
  [5, 3875884390511759390n, 11645519047072555004n],
  [8, 3692222752269843843n, 1149419054737682523n],
  [9, 10740737026755602898n, 5122000042521401613n],
  [15, 16316259148137463219n, 11205166034656729615n],
  [16, 14973346930013163285n, 1580693061428890155n],
  [17, 13488925526316360347n, 9345112655567381647n],
  [31, 10151561519926819618n, 15973931242324756847n],
  [32, 288605012390058684n, 14637245427882269310n],
  [33, 7856459155194456872n, 3426388571934493466n],
  [47, 5621403075924382307n, 8470924260599199174n],
  [48, 7787542614938658634n, 10732177457438967703n],
  [49, 1610686360084135136n, 4157234032598909415n],
  [63, 14908629160908594642n, 10490656523784261261n],
  [64, 12335417351170557841n, 5476182009234239637n],
  [95, 15222522127029573299n, 6885902412816921550n],
  [96, 1893431938941254353n, 17026073994181613781n],
  [97, 12981375020131182752n, 3344205981172969875n],
  [144, 14593258780958434312n, 6828519319839898079n],
  [145, 3322676506835984135n, 12994602402741155806n],
  [200, 2830948464640646084n, 9069970789094361627n],
];

describe("hashes", () => {
  test("wyhash gives Bun's numbers at every length that is treated differently", () => {
    const text = "abcdefghijklmnopqrstuvwxyz0123456789".repeat(9);
    for (const [length, plain, seeded] of WYHASH) {
      assert.equal(bun.hash(text.slice(0, length)), plain, `length ${length}`);
      assert.equal(bun.hash(text.slice(0, length), 42), seeded, `length ${length}, seeded`);
    }
  });

  test("checksums", () => {
    assert.deepEqual([bun.hash.crc32("hello"), bun.hash.adler32("hello")], [907060870, 103547413]);
    assert.throws(() => bun.hash(7), /expected a string or bytes to hash, not 7/);
  });

  test("CryptoHasher", () => {
    const { CryptoHasher } = bun;
    assert.equal(CryptoHasher.hash("md5", "a", "hex"), "0cc175b9c0f1b6a831c399e269772661");
    assert.equal(bun.SHA1.hash("a", "hex"), "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8");
    const keyed = new CryptoHasher("sha256", "key").update("a").digest("base64");
    assert.equal(keyed, "eAw9tM495bnlWBb7qY9ZBjHZbAdScbJpdiONX0REIZs=");
    const first = new CryptoHasher("sha256").update("a");
    const second = first.copy().update("b");
    assert.equal(
      first.digest("hex"),
      "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
    );
    assert.equal(second.digest().length, 32);
  });
});

describe("helpers", () => {
  test("small functions", async () => {
    assert.equal(
      bun.escapeHTML(`<a href="x">'&</a>`),
      "&lt;a href=&quot;x&quot;&gt;&#x27;&amp;&lt;/a&gt;",
    );
    assert.deepEqual(
      [bun.stringWidth("a\tb"), bun.stringWidth("\x1b[31m日本\x1b[0m👨‍👩‍👧")],
      [2, 6],
    );
    assert.equal(bun.stripANSI("\x1b[1ma\x1b[0m"), "a");
    assert.ok(bun.deepEquals({ a: [1] }, { a: [1] }));
    assert.equal(bun.inspect({ a: 1 }), "{ a: 1 }");
    assert.equal(bun.fileURLToPath(bun.pathToFileURL("/a b")), "/a b");
    assert.equal(bun.gunzipSync(bun.gzipSync("zip")).toString(), "zip");
    assert.equal(bun.inflateSync(bun.deflateSync("zip")).toString(), "zip");
    assert.equal(
      new Uint8Array(bun.concatArrayBuffers([new Uint8Array([1]), new Uint8Array([2]).buffer]))[1],
      2,
    );
    assert.match(
      bun.randomUUIDv7(),
      /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
    );
  });

  test("read the process when they are asked", (t) => {
    process.env.HAFT_TEST_BUN = "here";
    t.after(() => delete process.env.HAFT_TEST_BUN);
    assert.equal(bun.env.HAFT_TEST_BUN, "here");
    assert.equal(bun.argv, process.argv);
    assert.equal(bun.cwd, process.cwd());
  });

  test("sleep", async () => {
    const before = bun.nanoseconds();
    await bun.sleep(new Date(Date.now() + 5));
    bun.sleepSync(5);
    assert.ok(bun.nanoseconds() - before >= 9e6);
    assert.throws(() => bun.sleepSync("soon"), /expected milliseconds or a Date, not soon/);
  });

  test("resolve from a folder or a file", async () => {
    await writeFile(at("resolved.js"), "");
    assert.equal(bun.resolveSync("./resolved", folder), at("resolved.js"));
    assert.equal(await bun.resolve("./resolved.js", at("other.js")), at("resolved.js"));
    assert.throws(() => bun.resolveSync("./nothing", folder), { code: "MODULE_NOT_FOUND" });
  });

  test("YAML and TOML", () => {
    assert.deepEqual(bun.YAML.parse("a: 1\nb: [x]\nc: &d {e: 2}\nf: {<<: *d}"), {
      a: 1,
      b: ["x"],
      c: { e: 2 },
      f: { e: 2 },
    });
    assert.deepEqual(bun.YAML.parse("a\n---\nb"), ["a", "b"]);
    assert.equal(bun.YAML.parse(""), null);
    assert.throws(() => bun.YAML.parse("a: [1"), /^SyntaxError: YAML:/);
    assert.equal(bun.YAML.stringify({ a: [1] }), "a:\n  - 1\n");
    assert.deepEqual(bun.TOML.parse("a = 1\n[b]\nc = ['d']"), { a: 1, b: { c: ["d"] } });
    assert.throws(() => bun.TOML.parse("a ="));
  });

  test("which", () => {
    assert.match(bun.which("sh"), /^\/.*\/sh$/);
    assert.equal(bun.which("/bin/sh"), "/bin/sh");
    assert.deepEqual(
      [bun.which("no-such-program"), bun.which(""), bun.which("/")],
      [null, null, null],
    );
    assert.equal(bun.which("sh", { PATH: "/nowhere" }), null);
  });

  test("what is not here says so", () => {
    assert.throws(
      () => bun.serve({}),
      /`Bun.serve` is not available in haft: use node:http or node:net/,
    );
  });
});
