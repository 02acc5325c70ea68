// Content types by the extension of a file, for what tools meet.

const TEXT = ";charset=utf-8";

const TYPES: Record<string, string> = {
  avif: "image/avif",
  css: `text/css${TEXT}`,
  csv: "text/csv",
  gif: "image/gif",
  gz: "application/gzip",
  htm: `text/html${TEXT}`,
  html: `text/html${TEXT}`,
  ico: "image/vnd.microsoft.icon",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: `application/json${TEXT}`,
  md: "text/markdown",
  mp3: "audio/mpeg",
  mp4: "video/mp4",
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  toml: "application/toml",
  txt: `text/plain${TEXT}`,
  wasm: "application/wasm",
  wav: "audio/wav",
  webm: "video/webm",
  webp: "image/webp",
  xml: "application/xml",
  yaml: "text/yaml",
  yml: "text/yaml",
  zip: "application/zip",
};

const SCRIPTS = new Set(["cjs", "cts", "js", "jsx", "mjs", "mts", "ts", "tsx"]);

/** The content type of a path. */
export function typeOf(path: string): string {
  const extension = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  if (SCRIPTS.has(extension)) return `text/javascript${TEXT}`;
  return TYPES[extension] ?? "application/octet-stream";
}
