export default () => new Promise(() => setInterval(() => {}, 1000));
