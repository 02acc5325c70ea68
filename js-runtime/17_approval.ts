// What a tool says about the harm of a call (spec omp 10).
//
// Whatever is missing, malformed or thrown counts as the highest tier: the careful reading. The
// answer has no prototype and no arrays, so that no other module can slip it a `toJSON`.

import { sanitiseText } from "ext:haft/23_text.ts";

type Tier = "read" | "write" | "exec";

/** Twin of `Stance` in `crates/tool/src/approval.rs`. */
export interface Stance {
  tier: Tier;
  reason?: string;
  override?: boolean;
  policy?: "allow" | "deny" | "prompt";
  policyKey?: string;
  /** Lines. */
  details?: string;
  /** The JSON text of the arguments as `execute` gets them. */
  arguments?: string;
}

/**
 * The stance of `tool` on a call, and its own words about it. `args` gives a copy of the arguments to
 * each function that asks for them.
 */
export function stanceOn(tool: Record<string, any>, args: () => unknown): Stance {
  let stance: Stance;
  try {
    const said = tool.approval;
    stance = stanceFrom(typeof said === "function" ? said.call(tool, args()) : said);
  } catch {
    stance = stanceFrom(undefined);
  }
  const details = detailsOf(tool, args);
  if (details !== undefined) stance.details = details;
  return stance;
}

/** The stance that a tier or a decision object stands for. Getters in it may throw. */
export function stanceFrom(said: any): Stance {
  const stance: Stance = Object.create(null);
  stance.tier = isTier(said) ? said : "exec";
  if (typeof said !== "object" || said === null) return stance;
  const { tier, reason, override, policy, policyKey } = said;
  if (isTier(tier)) stance.tier = tier;
  if (typeof reason === "string" && reason !== "") stance.reason = sanitiseText(reason);
  if (override === true) stance.override = true;
  if (policy === "allow" || policy === "deny" || policy === "prompt") stance.policy = policy;
  if (typeof policyKey === "string") stance.policyKey = sanitiseText(policyKey);
  return stance;
}

// Returns the lines for the approver; undefined if the formatter fails.
function detailsOf(tool: Record<string, any>, args: () => unknown): string | undefined {
  try {
    if (typeof tool.formatApprovalDetails !== "function") return undefined;
    const said = tool.formatApprovalDetails(args());
    if (typeof said === "string") return sanitiseText(said);
    if (!Array.isArray(said)) return undefined;
    let lines = "";
    for (let index = 0; index < said.length; index++) {
      if (typeof said[index] === "string") lines += `${lines === "" ? "" : "\n"}${said[index]}`;
    }
    return sanitiseText(lines);
  } catch {
    return undefined;
  }
}

function isTier(value: unknown): value is Tier {
  return value === "read" || value === "write" || value === "exec";
}
