export default () => { throw new Error("cut \ud83d"); };
