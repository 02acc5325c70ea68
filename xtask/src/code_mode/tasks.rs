//! The twelve tasks: the calls that they take, and the script that does the same.

use serde_json::{Value, json};

/// A call: the tool and its arguments.
pub type Call = (&'static str, Value);

/// A task, done in two ways.
pub struct Task {
    pub title: &'static str,
    /// Words that a model would search for.
    pub words: &'static str,
    pub calls: fn() -> Vec<Call>,
    pub script: &'static str,
    pub answer: &'static str,
}

pub const TASKS: &[Task] = &[
    Task {
        title: "one small call",
        words: "status",
        calls: || vec![("status", json!({}))],
        script: r#"JSON.parse(await tools.status())"#,
        answer: "fine",
    },
    Task {
        title: "one issue",
        words: "get issue",
        calls: || vec![("get_issue", json!({"id": 17}))],
        script: r#"const { title, state } = JSON.parse(await tools.get_issue({ id: 17 })); `${title}: ${state}`"#,
        answer: "that can line reads and position: closed",
    },
    Task {
        title: "count the open issues",
        words: "list issues",
        calls: || vec![("list_issues", json!({"state": "open"}))],
        script: r#"JSON.parse(await tools.list_issues({ state: 'open' })).length"#,
        answer: "40",
    },
    Task {
        title: "titles of open bugs",
        words: "list issues",
        calls: || vec![("list_issues", json!({"state": "open", "label": "bug"}))],
        script: r#"JSON.parse(await tools.list_issues({ state: 'open', label: 'bug' })).map((one) => one.title).join('\n')"#,
        answer: "the a keeps so error its\nline reads and position an name\nits parser token the that can\nname the a keeps so error\ncan line reads and position an\nerror its parser token the that\nan name the a keeps so\nthat can line reads and position\nso error its parser token the\nposition an name the a keeps",
    },
    Task {
        title: "the five most active authors",
        words: "list commits",
        calls: || vec![("list_commits", json!({}))],
        script: r#"const n = {}; for (const { author } of JSON.parse(await tools.list_commits())) n[author] = (n[author] ?? 0) + 1; Object.entries(n).sort((a, b) => b[1] - a[1]).slice(0, 5).join(' ')"#,
        answer: "grace,43 barbara,43 alan,42 ada,22",
    },
    Task {
        title: "files with a TODO among ten",
        words: "list files, read file",
        calls: || {
            let mut calls = vec![("list_files", json!({}))];
            calls
                .extend((0..10).map(|n| ("read_file", json!({"path": format!("src/part{n}.ts")}))));
            calls
        },
        script: r#"const paths = JSON.parse(await tools.list_files()).slice(0, 10); const texts = await Promise.all(paths.map((path) => tools.read_file({ path }))); paths.filter((_, n) => texts[n].includes('TODO')).join('\n')"#,
        answer: "src/part0.ts\nsrc/part5.ts",
    },
    Task {
        title: "lines of two files",
        words: "read file",
        calls: || {
            vec![
                ("read_file", json!({"path": "src/part1.ts"})),
                ("read_file", json!({"path": "src/part5.ts"})),
            ]
        },
        script: r#"const lines = async (path) => JSON.parse(await tools.read_file({ path })).split('\n').length; (await Promise.all([lines('src/part1.ts'), lines('src/part5.ts')])).join(' ')"#,
        answer: "61 61",
    },
    Task {
        title: "total of a customer's orders",
        words: "list orders",
        calls: || vec![("list_orders", json!({"customer": 12}))],
        script: r#"JSON.parse(await tools.list_orders({ customer: 12 })).reduce((sum, one) => sum + one.total, 0)"#,
        answer: "212",
    },
    Task {
        title: "the best of ten customers",
        words: "list orders, get customer",
        calls: || {
            let mut calls: Vec<_> = (1..=10)
                .map(|n| ("list_orders", json!({"customer": n})))
                .collect();
            calls.push(("get_customer", json!({"id": 4})));
            calls
        },
        script: r#"const totals = await Promise.all(Array.from({ length: 10 }, async (_, n) => [JSON.parse(await tools.list_orders({ customer: n + 1 })).reduce((sum, one) => sum + one.total, 0), n + 1])); const [total, id] = totals.sort((a, b) => b[0] - a[0])[0]; `${JSON.parse(await tools.get_customer({ id })).name}: ${total}`"#,
        answer: "Customer 4: 276",
    },
    Task {
        title: "comments of the most discussed issue",
        words: "list issues, list comments",
        calls: || {
            vec![
                ("list_issues", json!({"state": "all"})),
                ("list_comments", json!({"issue": 32})),
            ]
        },
        script: r#"const [most] = JSON.parse(await tools.list_issues({ state: 'all' })).sort((a, b) => b.comments - a.comments); const comments = JSON.parse(await tools.list_comments({ issue: most.id })); `${most.id}: ${[...new Set(comments.map((one) => one.author))].join(' ')}`"#,
        answer: "32: ada grace alan edsger barbara donald margaret",
    },
    Task {
        title: "assignees of twenty issues",
        words: "get issue",
        calls: || (1..=20).map(|n| ("get_issue", json!({"id": n}))).collect(),
        script: r#"(await Promise.all(Array.from({ length: 20 }, (_, n) => tools.get_issue({ id: n + 1 })))).map((one) => JSON.parse(one).assignee).join(' ')"#,
        answer: "ada grace alan edsger barbara donald margaret ada grace alan edsger barbara donald margaret ada grace alan edsger barbara donald",
    },
    Task {
        title: "customers without orders",
        words: "list customers, list orders",
        calls: || vec![("list_customers", json!({})), ("list_orders", json!({}))],
        script: r#"const [customers, orders] = (await Promise.all([tools.list_customers(), tools.list_orders()])).map((one) => JSON.parse(one)); const with_order = new Set(orders.map((one) => one.customer)); customers.filter((one) => !with_order.has(one.id)).map((one) => one.name).join(', ')"#,
        answer: "Customer 51, Customer 52, Customer 53, Customer 54, Customer 55, Customer 56, Customer 57, Customer 58, Customer 59, Customer 60",
    },
];
