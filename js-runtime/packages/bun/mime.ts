// Content types by the extension of a file.

import { lookup, mimes } from "mrmime";

// What mrmime does not know, or knows as something else: code, and what Bun says of icons and XML.
for (const extension of ["cjs", "cts", "jsx", "mts", "ts", "tsx"])
  mimes[extension] = "text/javascript";
Object.assign(mimes, { ico: "image/vnd.microsoft.icon", xml: "application/xml" });

/** Types of text to which Bun adds the encoding. */
const WITH_CHARSET = /^(?:text\/(?:css|html|javascript|plain)|application\/json)$/;

/** The content type of a path. */
export function typeOf(path: string): string {
  const extension = /\.([^./\\]+)$/.exec(path)?.[1];
  const found = extension && lookup(extension);
  if (!found) return "application/octet-stream";
  return WITH_CHARSET.test(found) ? `${found};charset=utf-8` : found;
}
