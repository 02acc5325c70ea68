// Functions of pi 1.6 that tools use and that need no agent.

import { builtin } from "../builtin.ts";

/** The lines that a reading tool was asked for, as its title shows them: `:3-7`. */
export function formatReadLineRange(offset: unknown, limit: unknown): string {
  const isLeftOut = (value: unknown) => value === undefined || value === null;
  const first = isLeftOut(offset) ? 1 : wholeNumber(offset);
  if (first === undefined || (isLeftOut(offset) && isLeftOut(limit))) return "";
  if (isLeftOut(limit)) return `:${first}`;
  const count = wholeNumber(limit);
  return count === undefined ? "" : `:${first}-${first + count - 1}`;
}

function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

interface ResizedImage {
  data: string;
  mimeType: string;
  originalWidth: number;
  originalHeight: number;
  width: number;
  height: number;
  wasResized: boolean;
}

/** Pi gives `null` where its library for images is missing; haft has none. */
export async function resizeImage(): Promise<ResizedImage | null> {
  return null;
}

/** The sentence with which a model finds places of a smaller image in the original. */
export function formatDimensionNote(image: ResizedImage): string | undefined {
  if (!image.wasResized) return undefined;
  const scale = (image.originalWidth / image.width).toFixed(2);
  const [shown, original] = [
    `${image.width}x${image.height}`,
    `${image.originalWidth}x${image.originalHeight}`,
  ];
  return `[The image is shown at ${shown}; the original has ${original}: multiply places by ${scale}.]`;
}

/** Bytes at the start of a file that tell its kind. */
const SNIFFED_BYTES = 4100;

/** The media type of an image that models take, by its first bytes; `null` for other files. */
export async function detectSupportedImageMimeTypeFromFile(path: string): Promise<string | null> {
  const file = await builtin("node:fs").promises.open(path, "r");
  try {
    const start = builtin("node:buffer").Buffer.alloc(SNIFFED_BYTES);
    const { bytesRead } = await file.read(start, 0, SNIFFED_BYTES, 0);
    return imageType(start.subarray(0, bytesRead).toString("latin1"));
  } finally {
    await file.close();
  }
}

/** `start` has one character for each byte. */
function imageType(start: string): string | null {
  if (start.startsWith("\xff\xd8\xff")) return start[3] === "\xf7" ? null : "image/jpeg";
  if (start.startsWith("\x89PNG\r\n\x1a\n")) {
    // The chunk of an animation comes before the pixels.
    const beforePixels = start.split("IDAT", 1)[0] as string;
    const isPicture = start.startsWith("\0\0\0\rIHDR", 8) && !beforePixels.includes("acTL");
    return isPicture ? "image/png" : null;
  }
  if (/^GIF8[79]a/.test(start)) return "image/gif";
  if (/^RIFF.{4}WEBP/s.test(start)) return "image/webp";
  return start.startsWith("BM") && start.length >= 26 ? "image/bmp" : null;
}

/** The shell that runs commands: the given one, or bash, or sh. */
export function getShellConfig(shell?: string): { shell: string; args: string[] } {
  const { existsSync } = builtin("node:fs");
  if (shell !== undefined && !existsSync(shell)) {
    throw new Error(`There is no shell at ${shell}`);
  }
  const found = shell ?? (existsSync("/bin/bash") ? "/bin/bash" : "sh");
  return { shell: found, args: ["-c"] };
}
