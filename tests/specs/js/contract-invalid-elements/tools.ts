const execute = () => ({ content: [] });
const rest = { description: "d", parameters: {}, execute };

export default () => [
  null,
  { ...rest },
  { ...rest, name: "" },
  { ...rest, name: 7 },
  { name: "no_description", parameters: {}, execute },
  { name: "no_parameters", description: "d", execute },
  { ...rest, name: "no_execute", execute: "later" },
  Promise.resolve({ ...rest, name: "not_awaited" }),
  () => ({ ...rest, name: "a_function" }),
  { ...rest, name: "valid" },
];
