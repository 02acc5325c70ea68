export default () => "tool";
