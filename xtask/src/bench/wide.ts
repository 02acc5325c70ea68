// As many parameters as the largest of people's tools have, of every kind.
export default (pi: any) => {
  const { object, string, number, boolean, array, enum: oneOf } = pi.zod;
  const shape: Record<string, unknown> = {};
  for (let n = 0; n < 4; n += 1) {
    shape[`text_${n}`] = string().min(1).describe(`text ${n}`);
    shape[`count_${n}`] = number().int().min(0).optional();
    shape[`flag_${n}`] = boolean().optional().default(false);
    shape[`kind_${n}`] = oneOf(["one", "two", "three"]).optional();
    shape[`list_${n}`] = array(string()).optional();
  }
  return {
    name: "wide",
    label: "Wide",
    description: "Says the first of its twenty parameters",
    parameters: object(shape),

    async execute(_callId: string, params: any) {
      return { content: [{ type: "text", text: params.text_0 }] };
    },
  };
};
