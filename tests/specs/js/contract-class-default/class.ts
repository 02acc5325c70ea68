export default class Greeter {
  name = "greeter";
}
