export const slow = await new Promise<string>((done) => setTimeout(() => done("slow"), 5));
