// Chooses an element by a word, always the same one.

module.exports = function pick(list, word) {
  const sum = [...word].reduce((total, letter) => total + letter.codePointAt(0), 0);
  return list[sum % list.length];
};
