// zod's messages in 50 languages, which weigh as much as zod itself.

export * from "zod/v4/locales";
