import { expect } from 'chai';
import { z } from 'zod';
import { declaredKeysOf, wordPath } from '../../contract/declared-keys.ts';
import { problemsOfZodError, wordProblems } from '../../contract/problem.ts';
import { TransactionEvent } from '../../contract/transaction.ts';

/** The worded problems of a value under a schema. */
function worded(schema: z.ZodType, value: unknown): string[] {
  const result = schema.safeParse(value);
  return result.success ? [] : wordProblems(problemsOfZodError(result.error, value));
}

describe('contract/problem', () => {
  it('every refusal is worded as path and what is wrong', () => {
    const schema = z.strictObject({
      name: z.string().min(2),
      kind: z.enum(['A', 'B']),
      version: z.literal('1.0'),
      count: z.int().min(0).max(60),
      tags: z.array(z.string()).max(1),
      inner: z.strictObject({ flag: z.boolean() }),
      step: z.number().multipleOf(5),
      code: z.string().regex(/^x$/),
      union: z.union([z.string(), z.number()]),
    });
    const value = {
      name: 'x',
      kind: 'C',
      version: 1,
      count: 61,
      tags: ['a', 'b'],
      inner: { flag: 'true' },
      step: 3,
      code: 'y',
      union: null,
    };
    expect(worded(schema, value)).to.deep.equal([
      'name: must be at least 2 characters long',
      'kind: must be one of A, B',
      'version: must be "1.0"',
      'count: must be at most 60',
      'tags: must have at most 1 element',
      'inner.flag: must be true or false',
      'step: must be a multiple of 5',
      'code: has a wrong format',
      'union: matches none of the allowed shapes',
    ]);
  });

  it('a missing field is told apart from one of the wrong type', () => {
    const schema = z.strictObject({ a: z.string(), b: z.strictObject({ c: z.int() }) });
    expect(worded(schema, { b: { c: '1' } })).to.deep.equal([
      'a: is required and must be a string',
      'b.c: must be a number',
    ]);
  });

  it('the whole body is called body', () => {
    expect(worded(TransactionEvent, [])).to.deep.equal(['body: must be an object']);
    expect(worded(TransactionEvent, null)).to.deep.equal(['body: must be an object']);
  });

  it('undeclared keys are never named, at the top and below', () => {
    const schema = z.strictObject({ inner: z.strictObject({ a: z.string().optional() }) });
    const lines = worded(schema, { inner: { '4111111111111111': 1 }, secret_name: 2, other: 3 });
    expect(lines).to.deep.equal([
      'inner.<undeclared>: is not declared by the contract',
      '<undeclared>: is not declared by the contract (2 such properties)',
    ]);
  });

  it('no received value appears in any wording', () => {
    const canary = 'canary-4111111111111111';
    const everywhere = Object.fromEntries(
      Object.keys(TransactionEvent.shape).map((name) => [name, canary]),
    );
    expect(worded(TransactionEvent, { ...everywhere, [canary]: canary }).join()).not.to.include(
      '4111',
    );
  });

  it('at most twenty problems are answered', () => {
    const schema = z.array(z.string());
    expect(
      worded(
        schema,
        Array.from({ length: 50 }, () => 1),
      ),
    ).to.have.length(20);
  });

  it('paths name declared keys only, and nothing below an undeclared one', () => {
    expect(wordPath(['transaction', 'tid'])).to.equal('transaction.tid');
    expect(wordPath(['order', 'card', 3, 'tid'])).to.equal('order.<undeclared>[3].<undeclared>');
    expect(wordPath(['constructor', 'toString'])).to.equal('<undeclared>.<undeclared>');
    expect(wordPath([])).to.equal('');
    expect(wordPath(['a'], declaredKeysOf(z.object({ a: z.string() })))).to.equal('a');
  });
});
