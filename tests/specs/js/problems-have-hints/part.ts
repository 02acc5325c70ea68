import { runWholeAgent } from "@oh-my-pi/pi-coding-agent";
export default () => runWholeAgent();
