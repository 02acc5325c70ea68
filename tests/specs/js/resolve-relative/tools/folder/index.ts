const name: string = "folder";
export { name as d, name as e, name as f };
