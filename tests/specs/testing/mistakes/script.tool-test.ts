export default { tests: [{ name: "a", expect: { text: 7 } }] };
