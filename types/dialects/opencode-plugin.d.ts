// `@opencode-ai/plugin`, as tool files and plugins of version 1 need it.

import type * as zod from "zod";

/** What `execute` is given besides the arguments. */
export interface ToolContext {
  sessionID: string;
  messageID: string;
  callID?: string;
  /** `haft`, in haft. */
  agent: string;
  directory: string;
  /** The root of the repository. */
  worktree: string;
  abort: AbortSignal;
  /** Sends an update of the call. */
  metadata(input: { title?: string; metadata?: Record<string, any> }): void;
  /** Asks the user; rejects if the answer is no. */
  ask(input: {
    permission: string;
    patterns: string[];
    always?: string[];
    metadata?: Record<string, any>;
  }): Promise<void>;
}

export interface ToolAttachment {
  type: "file";
  mime: string;
  /** Also a `data:` URL. */
  url: string;
  filename?: string;
}

export type ToolResult =
  | string
  | {
      title?: string;
      output: string;
      metadata?: Record<string, any>;
      attachments?: ToolAttachment[];
    };

type Shape = Readonly<Record<string, { readonly _zod: { readonly output: unknown } }>>;

type Arguments<Args extends Shape> = {
  [Key in keyof Args as undefined extends Args[Key]["_zod"]["output"]
    ? never
    : Key]: Args[Key]["_zod"]["output"];
} & {
  [Key in keyof Args as undefined extends Args[Key]["_zod"]["output"]
    ? Key
    : never]?: Args[Key]["_zod"]["output"];
};

export interface ToolDefinition<Args extends Shape = any> {
  description: string;
  args: Args;
  execute(args: Arguments<Args>, context: ToolContext): Promise<ToolResult> | ToolResult;
}

export declare function tool<const Args extends Shape>(
  definition: ToolDefinition<Args>,
): ToolDefinition<Args>;
export declare namespace tool {
  const schema: typeof zod;
}

/** Input of a plugin. Of `client`, haft has `app.log`. */
export interface PluginInput {
  client: any;
  project: any;
  directory: string;
  worktree: string;
  serverUrl?: URL;
  /** Runs a command, as `Bun.$`. */
  $: any;
}

export interface Hooks {
  tool?: Record<string, ToolDefinition>;
  [hook: string]: any;
}

export type Plugin = (input: PluginInput, options?: Record<string, any>) => Promise<Hooks>;
