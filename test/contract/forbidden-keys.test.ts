import { expect } from 'chai';
import { declaredKeysOf } from '../../contract/declared-keys.ts';
import { findForbidden, forbiddenProblems } from '../../contract/forbidden-data.ts';
import type { ForbiddenKind } from '../../contract/forbidden/kinds.ts';
import { OutcomeLabelRequest } from '../../contract/outcome.ts';

const NAMES: Record<ForbiddenKind, string> = {
  CARD_NUMBER: `cardNumber card_number CARD_NUMBER Card-Number CardNo card.no buyer_card_num customercardnumber PAN pan cardPan
    primaryAccountNumber ccNumber card_number_2 card_number_raw encryptedCardNumber 카드번호 신용카드번호 고객_카드번호`,
  SECURITY_CODE:
    'cvc CVC cvc2 cvv CVV2 cvn card_cvc cvvCode cvc_number securityCode CARD_SECURITY_CODE cardVerificationValue CVC번호 보안코드',
  TRACK_DATA: 'track1 track_2 track2Data trackData magstripe magnetic_stripe_data',
  ACCOUNT_NUMBER:
    'account_number accountNo ACCT_NO bankAccountNumber iban customer_iban refundAccountNum 계좌번호 환불계좌번호',
  PASSWORD:
    'password Password passwd PWD userPassword login_pwd new_password password1 passphrase card_pin 비밀번호 카드비밀번호 비번',
  IP_ADDRESS:
    'ip IP ip_address ipAddress IPAddress client_ip clientIp customerIpAddr remote_addr x-forwarded-for IPv4 ipv6_address IP주소 아이피',
};

const HARMLESS = `has_password password_changed_at passwordChangedAt passwordless failed_passwords cvv_result cvc_check cvv_response_code
  avs_result account_id account_age_days customer_account_type account_number_token account_number_hash accountNumberMasked
  masked_card_number hashedPan pan_token card_number_last4 last4 bin card_bin card_brand ip_prefix ip_country ipHash is_ip_proxy
  ip_version distinct_ips cards_per_ip ship_address shipAddress SHIPADDRESS membershipAddress email_address zip tip trip recipient
  description company japan expand spin pinterest loyalty_card_number id_card_number phone_number order_no number no value code
  tracking_number track_id soundtrack 비밀번호변경일 카드번호_토큰 카드사 계좌은행`;

function split(text: string): string[] {
  return text.trim().split(/\s+/);
}

describe('contract/forbidden-data: keys', () => {
  for (const [kind, names] of Object.entries(NAMES)) {
    for (const name of split(names)) {
      it(`a key ${name} is refused as ${kind}, whatever its value looks like`, () => {
        expect(findForbidden({ order: { [name]: '7x' } })).to.deep.equal([
          { path: 'order.<undeclared>', kind },
        ]);
      });
    }
  }

  for (const [name, kind] of [
    ['Card Number', 'CARD_NUMBER'],
    ['카드 번호', 'CARD_NUMBER'],
    ['카드번호'.normalize('NFD'), 'CARD_NUMBER'],
    ['ＣＶＣ', 'SECURITY_CODE'],
    ['Pass Word 비밀번호', 'PASSWORD'],
    ['계좌\u00a0번호', 'ACCOUNT_NUMBER'],
  ] as const) {
    it(`a key ${JSON.stringify(name)} is refused as ${kind}`, () => {
      expect(findForbidden({ [name]: 'x1' }).map((finding) => finding.kind)).to.deep.equal([kind]);
    });
  }

  for (const name of split(HARMLESS)) {
    it(`a key ${name} passes`, () => {
      expect(findForbidden({ order: { [name]: 7 } })).to.deep.equal([]);
      expect(findForbidden({ order: { [name]: 'x' } })).to.deep.equal([]);
    });
  }

  const refused: [string, unknown][] = [
    ['card → number', { card: { number: 'x1' } }],
    ['cards → [ no ]', { cards: [{ no: 'x1' }] }],
    ['account → number', { account: { number: 'x1' } }],
    ['account with digits', { account: '110-123-456789' }],
    ['계좌 with digits', { 계좌: 110123456789 }],
    ['cvc → value', { cvc: { value: 123 } }],
    ['password in an array', { password: ['x'] }],
    ['name and value', { fields: [{ name: 'cvc', value: '123' }] }],
    ['an IPv4 address as an integer', { ip: 3405803783 }],
    ['an address in disguise', { client_ip: 'cb007107' }],
  ];
  for (const [what, value] of refused) {
    it(`${what} is refused`, () => expect(findForbidden({ order: value })).to.have.length(1));
  }

  const passes: [string, unknown][] = [
    [
      'an empty field holds nothing',
      { cvc: null, password: '', card_number: ' ', iban: true, pwd: false },
    ],
    ['an account described', { account: { id: 'a-1', age_days: 12, type: 'X' } }],
    ['an account by a short or lettered id', { account: '42', bank_account: 'acct_9f2' }],
    [
      'the result of a check',
      { cvc: { result: 'M', provided: true }, card: { brand: 'VISA', last4: '1111' } },
    ],
    [
      'a prefix under ip',
      { ip: '203.0.113.0/24', client_ip: '2001:db8::/32', remote_addr: '203.0.113.*' },
    ],
    ['an unknown ip', { ip: 'unknown', same_ip: 'Y', cards_by_ip: 3 }],
    ['a barcode', { ean: '4006381333931', items: [{ sku: 4901234567894 }] }],
    ['a phone number', { phone: '4915112345675' }],
    ['a four-part version', { app_version: '3.12.4.108', user_agent: 'Shop 3.12.4.108 (Android)' }],
  ];
  for (const [what, value] of passes) {
    it(`${what} passes`, () => expect(findForbidden({ order: value })).to.deep.equal([]));
  }
});

describe('contract/forbidden-data: findings', () => {
  it('neither a value nor an undeclared key appears in what is answered', () => {
    const findings = findForbidden({
      transaction: { tid: '4111111111111111' },
      order: { '4111111111111111': 1, mail: [{ from: '203.0.113.7' }] },
      cvc: '987',
    });
    expect(findings).to.deep.equal([
      { path: 'transaction.tid', kind: 'CARD_NUMBER' },
      { path: 'order.<undeclared>', kind: 'CARD_NUMBER' },
      { path: 'order.<undeclared>[0].<undeclared>', kind: 'IP_ADDRESS' },
      { path: '<undeclared>', kind: 'SECURITY_CODE' },
    ]);
    const worded = JSON.stringify(forbiddenProblems(findings));
    expect(worded).not.to.match(/4111|203\.0\.113\.7|987|mail/);
    expect(worded).to.include('must not hold a card number');
  });

  it('declared ids are scanned like everything else', () => {
    for (const field of [
      'source_event_id',
      'correlation_id',
      'merchant_external_id',
      'source_system',
    ]) {
      expect(findForbidden({ [field]: '4111-1111-1111-1111' })).to.deep.equal([
        { path: field, kind: 'CARD_NUMBER' },
      ]);
    }
    expect(findForbidden('4111111111111111')).to.deep.equal([{ path: '', kind: 'CARD_NUMBER' }]);
  });

  it('a caller of the scan may say what is declared', () => {
    const declared = declaredKeysOf(OutcomeLabelRequest);
    expect(findForbidden({ outcome_label: '203.0.113.7', tid: '::1' }, { declared })).to.deep.equal(
      [
        { path: 'outcome_label', kind: 'IP_ADDRESS' },
        { path: '<undeclared>', kind: 'IP_ADDRESS' },
      ],
    );
  });

  it('at most twenty findings are collected', () => {
    expect(findForbidden(Array.from({ length: 500 }, () => '203.0.113.7'))).to.have.length(20);
    expect(findForbidden(Array.from({ length: 500 }, () => ({ cvc: '1' })))).to.have.length(20);
  });
});
