export default async () => {
  await null;
  throw new Error("later");
};
