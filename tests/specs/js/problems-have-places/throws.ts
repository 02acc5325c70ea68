// Types take room in this file and none in what runs: the places must be the author's.
interface Settings {
  key: string;
}

enum Level {
  Low,
}

export default (_pi: unknown): object => {
  const settings: Settings | undefined = undefined;
  throw new Error(`no key at level ${Level.Low} ${settings}`);
};
