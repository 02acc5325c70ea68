import data from "./data/bad.json";
export default () => data;
