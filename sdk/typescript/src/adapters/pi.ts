// Tools for the SDKs of pi and oh-my-pi.

import type { AdapterOptions, Client } from "../client.js";
import { type Offered, offered, unlessError } from "../offered.js";
import type { AskHandler, Content, Tier } from "../types.js";

/** The part of a session's user interface that answers questions. */
interface PiUi {
  select(title: string, options: string[], dialog?: object): Promise<string | undefined>;
  confirm(title: string, message: string, dialog?: object): Promise<boolean>;
  input(title: string, placeholder?: string, dialog?: object): Promise<string | undefined>;
  editor(title: string, prefill?: string): Promise<string | undefined>;
}

interface PiContext {
  hasUI?: boolean;
  ui?: PiUi;
}

export interface PiResult {
  content: Content[];
  details: any;
}

/** A tool of `customTools` of pi's SDK. */
export interface PiTool {
  name: string;
  label: string;
  description: string;
  parameters: any;
  execute(
    toolCallId: string,
    params: any,
    signal: AbortSignal | undefined,
    onUpdate: ((update: PiResult) => void) | undefined,
    context: any,
  ): Promise<PiResult>;
}

/** A tool of `customTools` of oh-my-pi's SDK. */
export interface OmpTool {
  name: string;
  label: string;
  description: string;
  parameters: any;
  approval: Tier;
  loadMode: "essential";
  execute(
    toolCallId: string,
    params: any,
    onUpdate: ((update: PiResult) => void) | undefined,
    context: any,
    signal?: AbortSignal,
  ): Promise<PiResult>;
}

export function piTools(client: Client, options: AdapterOptions): PiTool[] {
  return offered(client, options).map((tool) => ({
    ...piParts(tool),
    execute: (callId, params, signal, onUpdate, context) =>
      piCall(tool, callId, params, signal, onUpdate, context),
  }));
}

export function ompTools(client: Client, options: AdapterOptions): OmpTool[] {
  return offered(client, options).map((tool) => ({
    ...piParts(tool),
    approval: tool.info.approval,
    // oh-my-pi would otherwise hide the tools behind its search for tools.
    loadMode: "essential",
    execute: (callId, params, onUpdate, context, signal) =>
      piCall(tool, callId, params, signal, onUpdate, context),
  }));
}

function piParts({ alias, info, schema }: Offered) {
  return { name: alias, label: info.label, description: info.description, parameters: schema };
}

async function piCall(
  tool: Offered,
  callId: string,
  params: unknown,
  signal: AbortSignal | undefined,
  onUpdate: ((update: PiResult) => void) | undefined,
  context: PiContext | undefined,
): Promise<PiResult> {
  const result = await tool.call(params, {
    signal,
    callId,
    onUpdate: ({ content, details }) => onUpdate?.({ content, details }),
    onAsk: context?.hasUI === true && context.ui ? askIn(context.ui) : undefined,
  });
  const { content, details } = unlessError(tool, result);
  return { content, details };
}

/** Answers questions in the user interface of pi's session. */
function askIn(ui: PiUi): AskHandler {
  return async ({ method, title, options, message, placeholder, prefill, signal, timeoutMs }) => {
    const dialog = { signal, timeout: timeoutMs };
    switch (method) {
      case "select":
        return await ui.select(title, options ?? [], dialog);
      case "confirm":
        return await ui.confirm(title, message ?? "", dialog);
      case "input":
        return await ui.input(title, placeholder, dialog);
      case "editor":
        return await ui.editor(title, prefill);
    }
  };
}
