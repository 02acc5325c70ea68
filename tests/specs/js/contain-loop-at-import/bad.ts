while (true) {}

export default () => null;
