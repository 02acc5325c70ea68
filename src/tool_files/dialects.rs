//! Templates of tools in the dialects of other agents: where the file belongs, what is in it, and which
//! types a compiler needs to check it.

use std::path::PathBuf;

use haft_config::Config;

/// Dialect of a new tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum NewDialect {
    OhMyPi,
    Pi,
    Opencode,
    ClaudeAgentSdk,
    AiSdk,
    Copilot,
    #[strum(serialize = "openclaw")]
    OpenClaw,
}

/// Types of zod for checks without the package.
const ZOD: (&str, &str) = ("zod.d.ts", include_str!("../../types/dialects/zod.d.ts"));

/// Types of TypeBox for checks without the package.
const TYPEBOX: (&str, &str) = (
    "typebox.d.ts",
    include_str!("../../types/dialects/typebox.d.ts"),
);

/// Types that tool modules of oh-my-pi and extensions of pi import.
const HAFT: (&str, &str) = ("haft.d.ts", include_str!("../../types/haft.d.ts"));

impl NewDialect {
    pub(crate) const ALL: [NewDialect; 7] = [
        NewDialect::OhMyPi,
        NewDialect::Pi,
        NewDialect::Opencode,
        NewDialect::ClaudeAgentSdk,
        NewDialect::AiSdk,
        NewDialect::Copilot,
        NewDialect::OpenClaw,
    ];

    /// Returns the name that selects the dialect.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the folder in which tools of the dialect are found.
    pub(crate) fn tools(self, config: &Config, user: bool) -> PathBuf {
        let (cwd, home) = (&config.cwd, &config.home);
        match (self, user) {
            (NewDialect::Pi, false) => cwd.join(".pi/extensions"),
            (NewDialect::Pi, true) => home.join(".pi/agent/extensions"),
            (NewDialect::Opencode, false) => cwd.join(".opencode/tools"),
            (NewDialect::Opencode, true) => config.roots.config_home.join("opencode/tools"),
            (NewDialect::ClaudeAgentSdk, false) => cwd.join(".claude/tools"),
            (NewDialect::ClaudeAgentSdk, true) => home.join(".claude/tools"),
            (NewDialect::Copilot, false) => cwd.join(".github/extensions"),
            (NewDialect::Copilot, true) => home.join(".copilot/extensions"),
            // No agent looks for these anywhere, so they are found where haft looks for its own.
            (_, false) => cwd.join(".omp/tools"),
            (_, true) => config.roots.omp_agent.join("tools"),
        }
    }

    /// Returns the name of the module in a folder of the tool's own; `None` if the module is directly in
    /// the folder of tools.
    pub(crate) fn module_in_folder(self) -> Option<&'static str> {
        match self {
            NewDialect::Opencode | NewDialect::ClaudeAgentSdk => None,
            NewDialect::Copilot => Some("extension.mjs"),
            _ => Some("index.ts"),
        }
    }

    /// Returns true if a test can expect `details` and an update of the template.
    pub(crate) fn has_details(self) -> bool {
        matches!(self, NewDialect::OhMyPi | NewDialect::Pi)
    }

    /// Returns the declarations for the compiler, by the name of their file.
    pub(crate) fn types(self) -> Vec<(&'static str, &'static str)> {
        match self {
            NewDialect::OhMyPi | NewDialect::Pi => vec![HAFT, ZOD, TYPEBOX],
            NewDialect::Opencode => vec![
                (
                    "opencode-plugin.d.ts",
                    include_str!("../../types/dialects/opencode-plugin.d.ts"),
                ),
                ZOD,
            ],
            NewDialect::ClaudeAgentSdk => vec![
                (
                    "claude-agent-sdk.d.ts",
                    include_str!("../../types/dialects/claude-agent-sdk.d.ts"),
                ),
                ZOD,
            ],
            NewDialect::AiSdk => vec![
                ("ai.d.ts", include_str!("../../types/dialects/ai.d.ts")),
                ZOD,
            ],
            NewDialect::Copilot => vec![(
                "copilot-sdk.d.ts",
                include_str!("../../types/dialects/copilot-sdk.d.ts"),
            )],
            NewDialect::OpenClaw => vec![
                (
                    "openclaw-tool-plugin.d.ts",
                    include_str!("../../types/dialects/openclaw-tool-plugin.d.ts"),
                ),
                TYPEBOX,
            ],
        }
    }

    /// Returns the modules that a tool imports, each with the file of its types.
    pub(crate) fn imports(self) -> &'static [(&'static str, &'static str)] {
        match self {
            NewDialect::OhMyPi | NewDialect::Pi => &[
                ("@oh-my-pi/pi-coding-agent", "haft.d.ts"),
                ("@mariozechner/pi-coding-agent", "haft.d.ts"),
                ("@earendil-works/pi-coding-agent", "haft.d.ts"),
                ("@haft/tool-types", "haft.d.ts"),
                ("@sinclair/typebox", "typebox.d.ts"),
                ("typebox", "typebox.d.ts"),
                ("zod", "zod.d.ts"),
            ],
            NewDialect::Opencode => &[
                ("@opencode-ai/plugin", "opencode-plugin.d.ts"),
                ("zod", "zod.d.ts"),
            ],
            NewDialect::ClaudeAgentSdk => &[
                ("@anthropic-ai/claude-agent-sdk", "claude-agent-sdk.d.ts"),
                ("zod", "zod.d.ts"),
            ],
            NewDialect::AiSdk => &[("ai", "ai.d.ts"), ("zod", "zod.d.ts")],
            NewDialect::Copilot => &[("@github/copilot-sdk/extension", "copilot-sdk.d.ts")],
            NewDialect::OpenClaw => &[
                (
                    "openclaw/plugin-sdk/tool-plugin",
                    "openclaw-tool-plugin.d.ts",
                ),
                ("@sinclair/typebox", "typebox.d.ts"),
                ("typebox", "typebox.d.ts"),
            ],
        }
    }

    /// Returns the text of the module of the tool `name`.
    pub(crate) fn module(self, name: &str) -> String {
        let template = match self {
            NewDialect::OhMyPi => OH_MY_PI,
            NewDialect::Pi => PI,
            NewDialect::Opencode => OPENCODE,
            NewDialect::ClaudeAgentSdk => CLAUDE_AGENT_SDK,
            NewDialect::AiSdk => AI_SDK,
            NewDialect::Copilot => COPILOT,
            NewDialect::OpenClaw => OPENCLAW,
        };
        template.replace("NAME", name)
    }
}

const OH_MY_PI: &str = r#"import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const factory: CustomToolFactory = (pi) => ({
  name: "NAME",
  label: "NAME",
  description: "Says what a model should know to call it: what it does, and when to use it",
  parameters: pi.zod.object({
    name: pi.zod.string().describe("Whom to greet"),
    shout: pi.zod.boolean().default(false).describe("Say it louder"),
  }),
  // "read" looks, "write" changes files, "exec" does anything else.
  approval: "read",
  async execute(_toolCallId, { name, shout }, onUpdate, _ctx, signal) {
    signal?.throwIfAborted();
    onUpdate?.({ content: [{ type: "text", text: `Looking for ${name}` }] });
    const text = `Hello, ${name}!`;
    return {
      content: [{ type: "text", text: shout ? text.toUpperCase() : text }],
      details: { name },
    };
  },
});

export default factory;
"#;

const PI: &str = r#"import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
  pi.registerTool({
    name: "NAME",
    label: "NAME",
    description: "Says what a model should know to call it: what it does, and when to use it",
    parameters: Type.Object({
      name: Type.String({ description: "Whom to greet" }),
      shout: Type.Optional(Type.Boolean({ description: "Say it louder" })),
    }),
    annotations: { readOnlyHint: true },
    async execute(_toolCallId, { name, shout }, signal, onUpdate, _ctx) {
      signal?.throwIfAborted();
      onUpdate?.({ content: [{ type: "text", text: `Looking for ${name}` }] });
      const text = `Hello, ${name}!`;
      return {
        content: [{ type: "text", text: shout ? text.toUpperCase() : text }],
        details: { name },
      };
    },
  });
}
"#;

const OPENCODE: &str = r#"import { tool } from "@opencode-ai/plugin";

// The name of the tool is that of this file.
export default tool({
  description: "Says what a model should know to call it: what it does, and when to use it",
  args: {
    name: tool.schema.string().describe("Whom to greet"),
    shout: tool.schema.boolean().default(false).describe("Say it louder"),
  },
  async execute({ name, shout }, context) {
    context.abort.throwIfAborted();
    const text = `Hello, ${name}!`;
    return shout ? text.toUpperCase() : text;
  },
});
"#;

const CLAUDE_AGENT_SDK: &str = r#"import { createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const greet = tool(
  "NAME",
  "Says what a model should know to call it: what it does, and when to use it",
  {
    name: z.string().describe("Whom to greet"),
    shout: z.boolean().default(false).describe("Say it louder"),
  },
  async ({ name, shout }) => {
    const text = `Hello, ${name}!`;
    return { content: [{ type: "text", text: shout ? text.toUpperCase() : text }] };
  },
  { annotations: { readOnlyHint: true } },
);

export default createSdkMcpServer({ name: "NAME", tools: [greet] });
"#;

const AI_SDK: &str = r#"import { tool } from "ai";
import { z } from "zod";

// The key is the name of the tool.
export const tools = {
  "NAME": tool({
    description: "Says what a model should know to call it: what it does, and when to use it",
    inputSchema: z.object({
      name: z.string().describe("Whom to greet"),
      shout: z.boolean().default(false).describe("Say it louder"),
    }),
    async execute({ name, shout }, { abortSignal }) {
      abortSignal?.throwIfAborted();
      const text = `Hello, ${name}!`;
      return shout ? text.toUpperCase() : text;
    },
  }),
};
"#;

const COPILOT: &str = r#"import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({
  tools: [
    {
      name: "NAME",
      description: "Says what a model should know to call it: what it does, and when to use it",
      parameters: {
        type: "object",
        properties: {
          name: { type: "string", description: "Whom to greet" },
          shout: { type: "boolean", description: "Say it louder" },
        },
        required: ["name"],
      },
      // It only reads, so its calls need no approval.
      skipPermission: true,
      handler: async ({ name, shout }) => {
        const text = `Hello, ${name}!`;
        return shout ? text.toUpperCase() : text;
      },
    },
  ],
});
"#;

const OPENCLAW: &str = r#"import { defineToolPlugin } from "openclaw/plugin-sdk/tool-plugin";
import { Type } from "typebox";

export default defineToolPlugin({
  id: "NAME",
  name: "NAME",
  description: "Tools of NAME",
  tools: (tool) => [
    tool({
      name: "NAME",
      description: "Says what a model should know to call it: what it does, and when to use it",
      parameters: Type.Object({
        name: Type.String({ description: "Whom to greet" }),
        shout: Type.Optional(Type.Boolean({ description: "Say it louder" })),
      }),
      execute({ name, shout }) {
        const text = `Hello, ${name}!`;
        return shout ? text.toUpperCase() : text;
      },
    }),
  ],
});
"#;
