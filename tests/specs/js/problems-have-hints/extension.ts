export default function (pi: any) {
  pi.registerTool({ name: "hello" });
}
