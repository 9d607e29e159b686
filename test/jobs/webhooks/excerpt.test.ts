import { expect } from 'chai';
import { excerptOf } from '../../../jobs/webhooks/excerpt.ts';

const SECRET = 'trk_whs_0123456789';
const keep = (text: string, encoding?: string): string | undefined =>
  excerptOf(Buffer.from(text), encoding, [SECRET]);

describe('what is kept of a receiver’s answer', () => {
  it('is at most 256 bytes, never half a character, without control characters', () => {
    expect(keep('ok')).to.equal('ok');
    expect(keep('')).to.equal(undefined);
    expect(keep('a\u0000b\r\nc')).to.equal('a b c');
    const kept = keep('가'.repeat(500)) ?? '';
    expect(Buffer.byteLength(kept)).to.equal(255);
    expect(kept).to.equal('가'.repeat(85));
  });

  it('is nothing of a compressed answer: it is never decompressed', () => {
    expect(keep('anything', 'gzip')).to.equal(undefined);
    expect(keep('anything', 'Identity')).to.equal('anything');
  });

  it('is withheld where it holds forbidden data, also behind or across the cut', () => {
    expect(keep('card 4111 1111 1111 1111 refused')).to.equal('[withheld: CARD_NUMBER]');
    expect(keep(`${'x'.repeat(245)} 4111111111111111`)).to.equal('[withheld: CARD_NUMBER]');
    expect(keep('{"error":"no","password":"hunter2"}')).to.equal('[withheld: PASSWORD]');
    expect(keep('refused for 203.0.113.77')).to.equal('[withheld: IP_ADDRESS]');
    expect(keep('['.repeat(10_000))).to.equal('['.repeat(256));
  });

  it('is withheld where it becomes forbidden by taking control characters out of it', () => {
    for (const between of ['\n', '\r\n', '\t', '\u0000', '\ufffd']) {
      const text = ['4111', '1111', '1111', '1111'].join(between);
      expect(keep(`card ${text} refused`), JSON.stringify(between)).to.equal(
        '[withheld: CARD_NUMBER]',
      );
    }
    const wide = Buffer.from('card 4111111111111111 refused', 'utf16le');
    expect(excerptOf(wide, undefined, [])).to.equal('[withheld: CARD_NUMBER]');
    expect(keep('line 1\nline 2')).to.equal('line 1 line 2');
  });

  it('is withheld where it repeats a signing secret', () => {
    expect(keep(`expected ${SECRET}`)).to.equal('[withheld: SIGNING_SECRET]');
  });
});
