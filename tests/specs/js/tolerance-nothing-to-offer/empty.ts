export default async () => [];
