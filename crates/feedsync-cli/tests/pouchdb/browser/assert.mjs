// The part of Node's `assert` that scenarios in a browser need.

function assert(holds, message, actual, expected) {
  if (holds) return;
  const told = [actual, expected].map((value) => JSON.stringify(value)?.slice(0, 2_000));
  throw new Error([message, ...told].filter((text) => text !== undefined).join('\n'));
}

function isSame(one, other) {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return false;
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length
    && names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]));
}

export default {
  ok: (value, message) => assert(value, message ?? 'is not so', value),
  equal: (one, other, message) => assert(Object.is(one, other), message ?? 'not equal', one, other),
  notEqual: (one, other, message) => assert(!Object.is(one, other), message ?? 'equal', one),
  deepEqual: (one, other, message) => assert(isSame(one, other), message ?? 'not equal', one, other),
  match: (text, like, message) => assert(like.test(text), message ?? `not ${like}`, text),
  fail: (message) => assert(false, message),
};
