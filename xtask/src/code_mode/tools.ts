// Tools of `cargo xtask code-mode`: ten with data for the tasks, and as many others as wanted.
const json = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const people = ["ada", "grace", "alan", "edsger", "barbara", "donald", "margaret"];
const labels = ["bug", "docs", "feature", "question"];
const words = "the parser reads a token and keeps the position so that an error can name its line".split(" ");
const prose = (seed, count) =>
  Array.from({ length: count }, (_, index) => words[(seed * 7 + index * 3) % words.length]).join(" ");

const issues = Array.from({ length: 120 }, (_, index) => ({
  id: index + 1,
  title: prose(index, 6),
  state: index % 3 === 0 ? "open" : "closed",
  labels: [labels[index % 4]],
  assignee: people[index % 7],
  comments: (index * 37) % 41,
  body: prose(index + 1, 40),
}));
const commits = Array.from({ length: 150 }, (_, index) => ({
  sha: (index * 2654435761 % 2 ** 32).toString(16).padStart(8, "0"),
  author: people[(index * index) % 7],
  date: `2026-0${1 + (index % 9)}-1${index % 10}`,
  subject: prose(index, 8),
}));
const files = Object.fromEntries(
  Array.from({ length: 40 }, (_, index) => [
    `src/part${index}.ts`,
    `${Array.from({ length: 60 }, (_, line) => `// ${prose(index + line, 9)}`).join("\n")}\n${index % 5 === 0 ? "// TODO: more" : ""}`,
  ]),
);
const customers = Array.from({ length: 60 }, (_, index) => ({
  id: index + 1,
  name: `Customer ${index + 1}`,
  city: ["Wien", "Graz", "Linz"][index % 3],
}));
const orders = Array.from({ length: 200 }, (_, index) => ({
  id: index + 1,
  customer: 1 + ((index * 11) % 50),
  total: 10 + ((index * 13) % 90),
  items: [{ article: `A-${index % 20}`, count: 1 + (index % 3) }],
}));

const text = (description) => ({ type: "string", description });
const number = (description) => ({ type: "integer", description });
const tool = (name, description, properties, required, run) => ({
  name,
  description,
  parameters: { type: "object", properties, required, additionalProperties: false },
  approval: "read",
  async execute(_id, args) {
    return json(run(args));
  },
});

const own = [
  tool("status", "Returns the status of the project.", {}, [], () => "fine"),
  tool("list_issues", "Lists the issues of the project with title, state, labels and body.",
    { state: { enum: ["open", "closed", "all"], description: "Only issues in this state" }, label: text("Only issues with this label") },
    [], ({ state, label }) => issues.filter((one) => (!state || state === "all" || one.state === state) && (!label || one.labels.includes(label)))),
  tool("get_issue", "Returns one issue of the project.", { id: number("The number of the issue") }, ["id"],
    ({ id }) => issues[id - 1]),
  tool("list_comments", "Lists the comments of an issue.", { issue: number("The number of the issue") }, ["issue"],
    ({ issue }) => Array.from({ length: Math.min(issues[issue - 1].comments, 10) }, (_, index) => ({ author: people[index % 7], text: prose(index + issue, 25) }))),
  tool("list_commits", "Lists the commits of a branch, the newest first.", { branch: text("The branch"), limit: number("At most so many") }, [],
    ({ limit }) => commits.slice(0, limit ?? 150)),
  tool("list_files", "Lists the paths of the files of the project.", { folder: text("Only files below this folder") }, [],
    () => Object.keys(files)),
  tool("read_file", "Reads a file of the project.", { path: text("The path of the file") }, ["path"], ({ path }) => files[path]),
  tool("list_customers", "Lists the customers with their cities.", { city: text("Only customers of this city") }, [],
    ({ city }) => customers.filter((one) => !city || one.city === city)),
  tool("list_orders", "Lists the orders with their items.", { customer: number("Only orders of this customer") }, [],
    ({ customer }) => orders.filter((one) => !customer || one.customer === customer)),
  tool("get_customer", "Returns one customer.", { id: number("The number of the customer") }, ["id"], ({ id }) => customers[id - 1]),
];

const services = ["calendar", "mail", "tickets", "wiki", "storage", "billing", "deploy", "metrics", "alerts", "users"];
const verbs = ["create", "update", "delete", "find", "list", "export", "import", "archive", "share", "watch"];
const others = Array.from({ length: 2000 }, (_, index) => {
  const service = services[index % 10];
  const verb = verbs[Math.floor(index / 10) % 10];
  const kind = ["item", "folder", "rule", "report", "group", "template", "label", "policy", "job", "draft"][Math.floor(index / 100) % 10];
  return tool(
    `${service}_${verb}_${kind}${index >= 1000 ? index : ""}`,
    `${verb[0].toUpperCase()}${verb.slice(1)}s a ${kind} of the service ${service}. Use it when the user speaks of ${service} and wants to ${verb} a ${kind}; it returns the ${kind} after the change.`,
    {
      id: text(`The id of the ${kind}`),
      title: text(`The title of the ${kind}, at most 200 characters`),
      owner: text("The name of the user who owns it; by default the caller"),
      tags: { type: "array", items: { type: "string" }, description: "Tags by which it can be found" },
      priority: { enum: ["low", "normal", "high"], description: "How urgent it is" },
      due: text("The date until which it is to be done, as YYYY-MM-DD"),
    },
    ["id"],
    ({ id }) => ({ id }),
  );
});

export default (pi) => [...own, ...others].slice(0, Number(process.env.BENCH_TOOLS ?? 10));
