export default (pi) => {
  const { Type } = pi.typebox;
  const needed = "String Number Integer Boolean Null Any Unknown Never Literal Union Intersect Enum Array Tuple Object Record Optional Readonly Partial Required Pick Omit Composite Unsafe".split(" ");
  return {
    name: "probe",
    label: "Probe",
    description: "what TypeBox has",
    parameters: Type.Object({
      level: Type.Enum({ Low: "low", High: "high" }, { default: "low" }),
      point: Type.Optional(Type.Tuple([Type.Number(), Type.Number()])),
      rest: Type.Optional(Type.Record(Type.String(), Type.Integer())),
    }),
    execute: (_id, params) => ({
      content: [{ type: "text", text: `${needed.filter((name) => typeof Type[name] !== "function").join() || "complete"} ${JSON.stringify(params)}` }],
    }),
  };
};
