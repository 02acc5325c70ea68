import data from "./data/bad.toml";
export default () => data;
