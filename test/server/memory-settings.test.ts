import { expect } from 'chai';
import { memorySettings } from '../../server/embedded-postgres/settings.ts';

const GIB = 1024 ** 3;

describe('memory of the embedded database', () => {
  it('is an eighth of what there is, at least 128 MB and at most 2 GB', () => {
    const buffers = [0.25, 4, 8, 64].map((gib) => memorySettings(gib * GIB)['shared_buffers']);
    expect(buffers).to.deep.equal(['128MB', '512MB', '1024MB', '2048MB']);
  });
});
