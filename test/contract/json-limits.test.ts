import { expect } from 'chai';
import { findJsonProblem, MAX_DEPTH, MAX_KEYS } from '../../contract/json-limits.ts';

/** Arrays nested `depth` levels deep. */
function nested(depth: number): unknown {
  return JSON.parse('['.repeat(depth) + ']'.repeat(depth));
}

describe('contract/json-limits', () => {
  const refused: [string, unknown, path: string][] = [
    ['NUL in a string', { order: { a: 'x\0y' } }, 'order.<undeclared>'],
    ['NUL in a key', { 'x\0': 1 }, '<undeclared>'],
    ['a lone high surrogate', { transaction: { tid: '\ud800' } }, 'transaction.tid'],
    ['a lone low surrogate', ['a', '\udc00x'], '[1]'],
    ['a lone surrogate in a key', { order: { '\udbff': 1 } }, 'order.<undeclared>'],
    ['2^53', { transaction: { amount_minor: 2 ** 53 } }, 'transaction.amount_minor'],
    ['-2^53', [-(2 ** 53)], '[0]'],
    ['a number beyond every double', JSON.parse('[1e400]'), '[0]'],
    ['NaN', [Number.NaN], '[0]'],
    ['an own __proto__ key', JSON.parse('{"order":{"__proto__":{}}}'), 'order.<undeclared>'],
    ['what is not JSON', { order: undefined }, 'order'],
  ];
  for (const [what, value, path] of refused) {
    it(`${what} is refused, with the path only`, () => {
      const problem = findJsonProblem(value);
      expect(problem?.path).to.equal(path);
      expect(problem?.message).to.match(/^must (not )?/);
    });
  }

  it('ordinary JSON passes, up to the largest exact integers and paired surrogates', () => {
    const value = {
      a: [null, true, 0, -0, 1.5, 2 ** 53 - 1, -(2 ** 53) + 1, '😀', ''],
      constructor: {},
    };
    expect(findJsonProblem(value)).to.equal(undefined);
  });

  it('depth 32 passes and depth 33 is refused, and a very deep body ends no process', () => {
    expect(findJsonProblem(nested(MAX_DEPTH))).to.equal(undefined);
    expect(findJsonProblem(nested(MAX_DEPTH + 1))?.message).to.include('32 levels');
    expect(findJsonProblem(nested(120_000))?.message).to.include('32 levels');
  });

  it('4,096 keys pass and 4,097 are refused, over all levels together', () => {
    const keys = (count: number, tag: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`${tag}${i}`, 1]));
    expect(findJsonProblem([keys(MAX_KEYS - 9, 'a'), keys(9, 'b')])).to.equal(undefined);
    expect(findJsonProblem([keys(MAX_KEYS - 9, 'a'), keys(10, 'b')])?.message).to.include('4096');
  });
});
