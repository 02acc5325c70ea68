// A tiny npm registry on loopback: packuments and tarballs of the packages in a JSON file.
//
//   node npm_registry.mjs PACKAGES.json
//
// PACKAGES.json: { NAME: { VERSION: { "files": { PATH: TEXT }, …fields of its package.json } } }. A version with
// "hangs": true has a tarball that never comes. The file is read anew for each request. The first line on standard
// output is the port, then comes a line for each request.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { gzipSync } from "node:zlib";

const [packagesFile] = process.argv.slice(2);

/** A tar archive in the ustar format, everything below `package/`. */
function tarball(files) {
  const blocks = [];
  for (const [path, text] of Object.entries(files)) {
    const body = Buffer.from(text);
    const head = Buffer.alloc(512);
    head.write(`package/${path}`, 0, 100);
    head.write("0000644\0", 100);
    head.write("0000000\0", 108);
    head.write("0000000\0", 116);
    head.write(`${body.length.toString(8).padStart(11, "0")}\0`, 124);
    head.write("00000000000\0", 136);
    head.write("        ", 148);
    head.write("0", 156);
    head.write("ustar\x0000", 257);
    const sum = head.reduce((total, byte) => total + byte, 0);
    head.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    blocks.push(head, body, Buffer.alloc((512 - (body.length % 512)) % 512));
  }
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]), { level: 1 });
}

function manifestOf(name, version, { files: _files, hangs: _hangs, ...fields }) {
  return { name, version, ...fields };
}

function tarballOf(name, version, entry) {
  const manifest = JSON.stringify(manifestOf(name, version, entry));
  return tarball({ "package.json": manifest, ...entry.files });
}

function packument(name, versions, base) {
  const all = Object.entries(versions).map(([version, entry]) => {
    const integrity = `sha512-${createHash("sha512").update(tarballOf(name, version, entry)).digest("base64")}`;
    const file = `${name.split("/").pop()}-${version}.tgz`;
    const manifest = manifestOf(name, version, entry);
    const hasInstallScript = manifest.scripts?.install !== undefined || manifest.scripts?.postinstall !== undefined;
    return [version, { ...manifest, hasInstallScript, dist: { tarball: `${base}/${name}/-/${file}`, integrity } }];
  });
  return { name, "dist-tags": { latest: Object.keys(versions).at(-1) }, versions: Object.fromEntries(all) };
}

const server = createServer((request, response) => {
  console.log([request.method, request.url, request.headers.authorization].filter(Boolean).join(" "));
  const packages = JSON.parse(readFileSync(packagesFile, "utf8"));
  const [name, file] = decodeURIComponent(request.url.slice(1)).split("/-/");
  const versions = packages[name];
  if (versions === undefined) {
    response.writeHead(404, { "content-type": "application/json" });
    return response.end(JSON.stringify({ error: "Not found" }));
  }
  if (file === undefined) {
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify(packument(name, versions, `http://${request.headers.host}`)));
  }
  const version = file.slice(name.split("/").pop().length + 1, -".tgz".length);
  if (versions[version].hangs) return;
  response.writeHead(200, { "content-type": "application/octet-stream" });
  response.end(tarballOf(name, version, versions[version]));
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
