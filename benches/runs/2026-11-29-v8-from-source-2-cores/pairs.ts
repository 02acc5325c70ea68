const t0 = Date.now();
const fib = (n: number): number => (n < 2 ? n : fib(n - 1) + fib(n - 2));
fib(34);
const t1 = Date.now();
let text = ""; for (let i = 0; i < 200000; i++) text += `k${i}=${i * 7};`;
const n = (text.match(/k(\d+)=(\d*7);/g) ?? []).length;
const o = JSON.parse(JSON.stringify(text.split(";").map((x) => ({ x })))).length;
const t2 = Date.now();
return `${t1 - t0} ${t2 - t1} ${n + o}`;
