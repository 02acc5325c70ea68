export default { name: "bare", description: "no factory", parameters: {}, execute() {} };
