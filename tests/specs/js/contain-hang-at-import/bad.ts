await new Promise(() => {});

export default () => null;
