import { open, type Store } from "./lib/store.ts";

interface Options { store: Store }

export default async () => {
  const options: Options = { store: { name: "a" } };
  open(options.store);
  return [];
};
