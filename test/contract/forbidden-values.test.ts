import { expect } from 'chai';
import { findForbidden, forbiddenKindOf } from '../../contract/forbidden-data.ts';
import type { ForbiddenKind } from '../../contract/forbidden/kinds.ts';

const FOUND: Record<ForbiddenKind, readonly string[]> = {
  CARD_NUMBER: [
    '4111111111111111',
    '4222222222222', // Visa, 13 digits
    '4000000000000000006', // Visa, 19 digits
    '5555555555554444',
    '2223000048400011',
    '378282246310005',
    '6011111111111117',
    '30569309025904',
    '3530111333300000',
    '6200000000000005',
    '6759649826438453',
    '2200770212727079',
    '9410020000000003',
    '4111 1111 1111 1111',
    '4111-1111-1111-1111',
    '4111.1111.1111.1111',
    '4111\u00a01111\u00a01111\u00a01111',
    '4111\u20111111\u20111111\u20111111',
    '4111\u200b1111\u200b1111\u200b1111',
    '4111\t1111\t1111\t1111',
    '3782 822463 10005',
    '3056-930902-5904',
    '411111-111111-1111',
    '４１１１１１１１１１１１１１１１',
    '４１１１－１１１１－１１１１－１１１１',
    '٤١١١١١١١١١١١١١١١',
    '카드4111111111111111번',
    'card4111111111111111',
    'pan=4111111111111111;',
    'paid with 4111 1111 1111 1111 12/28',
    '4111 1111 1111 1111 12 28',
    '20260301-4111111111111111',
    'tok_4111111111111111',
    '4111111111111111.',
    '4111111111111111.0',
    '+4111111111111111',
    '{"n":"4111111111111111"}',
  ],
  TRACK_DATA: [
    '%B4111111111111111^KIM/MINSU^30121010000000000000?',
    '%b123456789012^X^',
    ';4111111111111111=30121010000012345678?',
  ],
  IP_ADDRESS: [
    '203.0.113.7',
    '203.000.113.007',
    '203.0.113.7:8080',
    '203.0.113.7/24',
    '203.0.113.0/25',
    '203.0.113.0/32',
    '203.0.113.0',
    '127.0.0.1',
    'http://203.0.113.7/a',
    'http://example.com/203.0.113.7',
    'login from 203.0.113.7.',
    '203.0.113.7, 198.51.100.9',
    'ip/203.0.113.7',
    'IP203.0.113.7',
    '２０３．０．１１３．７',
    '접속203.0.113.7에서',
    '7.113.0.203.in-addr.arpa',
    '::1',
    '2001:db8::1',
    '2001:DB8::1',
    '2001:db8:1:2:3:4:5:6',
    '2001:0db8:0000:0000:0000:0000:0000:0001',
    'fe80::1%eth0',
    '[2001:db8::1]:443',
    'ip:2001:db8::1',
    '::ffff:203.0.113.7',
    '::ffff:cb00:7107',
    '2001:db8::1/64',
    '2001:db8::/65',
    '2001:db8:1:2::',
  ],
  ACCOUNT_NUMBER: [
    'DE89370400440532013000',
    'DE89 3704 0044 0532 0130 00',
    'gb82-west-1234-5698-7654-32',
    'IBAN:NL91ABNA0417164300',
    'ibanNO9386011117947',
    'pay FR1420041010050500013M02606 now',
    '계좌번호 110-123-456789',
    'account number: 1234567890',
  ],
  SECURITY_CODE: ['cvc 123', 'CVV: 1234', 'cvv2=123', 'security code is 123', '보안코드 123'],
  PASSWORD: [
    'password=hunter2',
    'https://shop.example/?pwd=abc&x=1',
    'password:hunter2',
    '비밀번호: hunter2!',
  ],
};

const PASSES = [
  '',
  '4111111111111112', // Luhn
  '1111111111111117', // no issuer
  '41111111111111111111', // 20 digits
  '00004111111111111111',
  '4111 1111 1111 1111 1111', // a serial in fours
  '4111  1111  1111  1111',
  '0.4111111111111111',
  '4111111111111111.25',
  '2498 8794 2004 7096 100 6476 6042 4132', // a list
  '6.092.101.023',
  '26.03.01.09',
  'GB01073444265790134601',
  '37.5665351234567890',
  '+491511234567',
  'a4111111111111111f00aa00bb00cc00',
  '4111-1111-111-11111',
  '550e8400-e29b-41d4-a716-446655440000',
  'ab12cd34-4222-4222-22222abcdef0', // digits of a group that goes on in letters
  '1767225600000',
  '1767225600000000000',
  '880-1234567893',
  '411111',
  '1111',
  '411111******1111',
  '%B12^',
  ';12=1',
  'width:100%;height=2',
  '203.0.113.0/24',
  '10.0.0.0/8',
  '0.0.0.0/0',
  '2001:db8::/32',
  '2001:db8:1:2::/64',
  '203.0.113',
  '203.0.113.*',
  '203.0.113.x',
  '1.2.3.4.5',
  '256.1.1.1',
  '10.0.19045.3803',
  'v1.2.3.4',
  'version 1.2.3.4',
  'Version: 1.2.3.4',
  '1.2.3.4-beta',
  '"Chromium";v="120.0.6.7"',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
  'Chrome/121.1.2.3',
  'Chrome 120.0.0.0',
  '12:30:45',
  '12:30:45.123',
  '12::30',
  '2026-03-01T09:00:00+09:00',
  '00:1a:2b:3c:4d:5e',
  '00:11:22:33:44:55:66:77',
  '16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48',
  'std::vector<int>',
  'dead::beef',
  'a::before',
  ':::',
  'urn:isbn:12:34',
  'DE89370400440532013001', // check digits
  'DE8937040044053201300', // length
  'XX89370400440532013000',
  '1f3f187d-ad22-4c88-96fd-2b6a65a8dd40', // a UUID whose end reads like an Andorran IBAN
  'account number ending 1234',
  'your account, please',
  'Forgot your password: click here',
  'password=***',
  'cvv match 100%',
  'cvc_check',
];

describe('contract/forbidden-data: values', () => {
  for (const [kind, texts] of Object.entries(FOUND)) {
    for (const text of texts) {
      it(`${kind} is found in ${JSON.stringify(text)}`, () => {
        expect(forbiddenKindOf(text)).to.equal(kind);
        expect(findForbidden({ order: { a: [text] } })).to.deep.equal([
          { path: 'order.<undeclared>[0]', kind },
        ]);
      });
    }
  }

  for (const text of PASSES) {
    it(`${JSON.stringify(text)} passes`, () => {
      expect(forbiddenKindOf(text)).to.equal(undefined);
    });
  }

  it('integers are read as cards, other numbers are not', () => {
    for (const value of [4111111111111111, -4111111111111111, 378282246310005, 4222222222222]) {
      expect(findForbidden([value]), String(value)).to.deep.equal([
        { path: '[0]', kind: 'CARD_NUMBER' },
      ]);
    }
    for (const value of [
      4111111111111112, 411111111111.1111, 1767225600000000, 999999999999, 4.111111111111111,
    ]) {
      expect(findForbidden([value]), String(value)).to.deep.equal([]);
    }
  });

  it('a text scanned before leaves no trace in the next one', () => {
    forbiddenKindOf('x'.repeat(40) + '4111111111111111');
    forbiddenKindOf('203.0.113.7 and more text behind it');
    expect(forbiddenKindOf('203.0.113.')).to.equal(undefined);
    expect(forbiddenKindOf('x'.repeat(40) + '411111111111111')).to.equal(undefined);
  });
});
