const formats = ["date-time", "date", "time", "uri", "email", "uuid", "ipv4", "regex", "made-up"];

export default (pi: any) => [
  {
    name: "plain",
    description: "plain",
    parameters: {
      type: "object",
      properties: Object.fromEntries(formats.map((format) => [format, { type: "string", format }])),
    },
    async execute(_id: string, params: unknown) {
      return { content: [{ type: "text" as const, text: JSON.stringify(params) }] };
    },
  },
  {
    name: "zod",
    description: "zod",
    parameters: pi.zod.object({ mail: pi.zod.email() }),
    async execute() {
      return { content: [] };
    },
  },
];
