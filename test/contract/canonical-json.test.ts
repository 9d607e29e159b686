import { expect } from 'chai';
import { canonicalJson } from '../../contract/canonical-json.ts';

/** The double with these 64 bits. */
function double(hex: string): number {
  const bytes = new DataView(new ArrayBuffer(8));
  bytes.setBigUint64(0, BigInt(`0x${hex}`));
  return bytes.getFloat64(0);
}

describe('contract/canonical-json', () => {
  it("the RFC's example (8785, section 3.2.2) comes out as printed there", () => {
    const input = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`;
    expect(canonicalJson(JSON.parse(input))).to.equal(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
        String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  it("the RFC's keys (section 3.2.3) are sorted by UTF-16 code units", () => {
    const input = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect(
      Object.values(JSON.parse(canonicalJson(Object.entries(input))) as string[]),
    ).to.have.length(7);
    const order = [...canonicalJson(input).matchAll(/:"([^"]+)"/g)].map((match) => match[1]);
    expect(order).to.deep.equal([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ]);
  });

  it("the RFC's numbers (appendix B) are written as ECMAScript does", () => {
    const samples: [string, string][] = [
      ['0000000000000000', '0'],
      ['8000000000000000', '0'],
      ['0000000000000001', '5e-324'],
      ['8000000000000001', '-5e-324'],
      ['7fefffffffffffff', '1.7976931348623157e+308'],
      ['ffefffffffffffff', '-1.7976931348623157e+308'],
      ['4340000000000000', '9007199254740992'],
      ['c340000000000000', '-9007199254740992'],
      ['4430000000000000', '295147905179352830000'],
      ['44b52d02c7e14af5', '9.999999999999997e+22'],
      ['44b52d02c7e14af6', '1e+23'],
      ['44b52d02c7e14af7', '1.0000000000000001e+23'],
      ['444b1ae4d6e2ef4e', '999999999999999700000'],
      ['444b1ae4d6e2ef4f', '999999999999999900000'],
      ['444b1ae4d6e2ef50', '1e+21'],
      ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
      ['3eb0c6f7a0b5ed8d', '0.000001'],
      ['41b3de4355555553', '333333333.3333332'],
      ['41b3de4355555554', '333333333.33333325'],
      ['41b3de4355555555', '333333333.3333333'],
      ['41b3de4355555556', '333333333.3333334'],
      ['41b3de4355555557', '333333333.33333343'],
      ['becbf647612f3696', '-0.0000033333333333333333'],
      ['43143ff3c1cb0959', '1424953923781206.2'],
    ];
    for (const [bits, text] of samples) expect(canonicalJson(double(bits)), bits).to.equal(text);
  });

  it('key order and white space do not matter; every value and every key does', () => {
    const same = canonicalJson(JSON.parse('{ "b": [1, {"y":2,"x":1}], "a": "z" }'));
    expect(canonicalJson(JSON.parse('{"a":"z","b":[1.0,{"x":1,"y":2}]}'))).to.equal(same);
    expect(canonicalJson({ a: 'z', b: [1, { x: 1, y: '2' }] })).not.to.equal(same);
    expect(canonicalJson({ 10: 1, 9: 2 })).to.equal('{"10":1,"9":2}');
    expect(canonicalJson(JSON.parse('{"__proto__":1,"a":2}'))).to.equal('{"__proto__":1,"a":2}');
    expect(canonicalJson([[], {}, '', -0])).to.equal('[[],{},"",0]');
  });

  it('strings are escaped as JSON.stringify does, for every single unit', () => {
    for (let code = 0; code < 0x10000; code++) {
      const text = `a${String.fromCharCode(code)}b`;
      if (canonicalJson(text) !== JSON.stringify(text)) expect.fail(`unit ${code}`);
    }
  });

  it('what is not JSON is an error, not a hash of something else', () => {
    for (const value of [undefined, 1n, Number.NaN, Infinity, () => 1, { a: undefined }]) {
      expect(() => canonicalJson(value)).to.throw(TypeError);
    }
  });
});
