// Ids of `Bun` and pi.

/** A UUID whose beginning is the time, in milliseconds, so that ids sort by it. */
export function uuidv7(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  const random = crypto.randomUUID().replaceAll("-", "").slice(13);
  const hex = `${time}7${random}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
