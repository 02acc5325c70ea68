type Row = { n: number; double: string };
const rows: Row[] = [];
for (let n = 1; n <= args.count; n++) {
  rows.push({ n, double: await tools.double({ n }) });
}
console.log(`${rows.length} rows`);
rows.map((row) => row.double).join(" ")
