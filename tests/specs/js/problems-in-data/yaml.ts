import data from "./data/bad.yaml";
export default () => data;
