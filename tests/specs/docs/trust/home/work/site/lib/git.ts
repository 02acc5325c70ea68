import { log } from "simple-git";

/** Formats the newest commits with the formatter that the project's settings name. */
export async function newest(name = process.env.FORMATTER ?? "plain") {
  const { format } = await import(`./formatters/${name}.ts`);
  return format(log());
}
