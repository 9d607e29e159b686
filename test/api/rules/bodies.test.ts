import { randomUUID } from 'node:crypto';
import { expectBody, expectError } from '../../support/bodies.ts';
import { keysOf } from '../../support/keys.ts';
import { eventOf } from '../../support/merchant.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { ruleBench } from '../../support/rules.ts';

const LABELS = ['FRAUD_CONFIRMED', 'FALSE_POSITIVE', 'CHARGEBACK_CONFIRMED'];
const ONE_OF = `must be one of ${LABELS.join(', ')}`;

describe('rules of request bodies', () => {
  const bench = ruleBench();
  let nextKey: () => Promise<string>;
  let transaction: string;

  before(async () => {
    nextKey = keysOf(bench.site());
    const { body } = await bench.caller().submit(eventOf());
    transaction = String(body.source_event_id);
  });

  const post = async (path: string, body?: Buffer | string) =>
    sendRaw(bench.service().port, {
      method: 'POST',
      path,
      headers: [
        'x-api-key',
        await nextKey(),
        'idempotency-key',
        randomUUID(),
        'content-type',
        'application/json',
      ],
      ...(body === undefined ? {} : { body }),
    });
  const submit = (body?: Buffer | string) => post('/v1/transactions', body);
  const label = (body?: Buffer | string) => post(`/v1/transactions/${transaction}/outcomes`, body);

  describe('of an outcome (section 2.10)', () => {
    for (const outcome of LABELS) {
      it(`${outcome} is accepted`, async () => {
        expectBody(
          await label(JSON.stringify({ outcome_label: outcome })),
          202,
          'OutcomeLabelAccepted',
        );
      });
    }

    const refused: Record<string, string> = {
      '{}': `outcome_label: is required and ${ONE_OF}`,
      '{"outcome_label":null}': `outcome_label: ${ONE_OF}`,
      '{"outcome_label":""}': `outcome_label: ${ONE_OF}`,
      '{"outcome_label":1}': `outcome_label: ${ONE_OF}`,
      '{"outcome_label":true}': `outcome_label: ${ONE_OF}`,
      '{"outcome_label":["FRAUD_CONFIRMED"]}': `outcome_label: ${ONE_OF}`,
      '{"outcome_label":{}}': `outcome_label: ${ONE_OF}`,
      '{"outcome_label":"fraud_confirmed"}': `outcome_label: ${ONE_OF}`,
      '{"outcome_label":"FRAUD_CONFIRMED "}': `outcome_label: ${ONE_OF}`,
      '{"outcome_label":"FRAUD"}': `outcome_label: ${ONE_OF}`,
      '{"outcome_label":"FALSE_POSITIVE","x":1}': '<undeclared>: is not declared by the contract',
      '{"outcome_label":"FALSE_POSITIVE","sourceEventId":"x"}':
        '<undeclared>: is not declared by the contract',
      '{"outcome_label":"FALSE_POSITIVE","constructor":{}}':
        '<undeclared>: is not declared by the contract',
      '{"outcome_label":"FALSE_POSITIVE","__proto__":{}}':
        '<undeclared>: must not be named __proto__',
      null: 'body: must be an object',
      '[]': 'body: must be an object',
      '"FRAUD_CONFIRMED"': 'body: must be an object',
      '1': 'body: must be an object',
    };
    for (const [body, detail] of Object.entries(refused)) {
      it(`${body} is refused`, async () => {
        expectError(await label(body), 'CONTRACT_VALIDATION_FAILED', [detail]);
      });
    }
  });

  describe('as JSON text', () => {
    const event = () => JSON.stringify(eventOf());
    const noJson: Record<string, () => Buffer | string | undefined> = {
      'no body': () => undefined,
      'an empty body': () => '',
      'white space': () => ' \n\t',
      'a truncated event': () => event().slice(0, -1),
      'an event and more': () => `${event()}x`,
      'two events': () => event() + event(),
      'a trailing comma': () => event().replace(/\}$/, ',}'),
      'a comment': () => `/* x */${event()}`,
      'single quotes': () => event().replaceAll('"', "'"),
      'a line break in a string': () => event().replace('KRW', 'K\nRW'),
      'a bad escape': () => event().replace('KRW', 'K\\xRW'),
      'a byte order mark': () => `\uFEFF${event()}`,
      'UTF-16': () => Buffer.from(event(), 'utf16le'),
      'a form': () => 'source_event_id=1&amount_minor=2',
      xml: () => '<event/>',
      undefined: () => 'undefined',
    };
    for (const [name, body] of Object.entries(noJson)) {
      it(`${name} is refused as no JSON, by both operations`, async () => {
        for (const answer of [await submit(body()), await label(body())]) {
          expectError(answer, 'CONTRACT_VALIDATION_FAILED', ['body: is not JSON']);
        }
      });
    }

    const noText: Record<string, Buffer> = {
      'a lone byte': Buffer.from([0x22, 0xff, 0x22]),
      'an overlong slash': Buffer.from([0x22, 0xc0, 0xaf, 0x22]),
      'an encoded surrogate': Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
      'half a character': Buffer.from([0x22, 0xea, 0xb0, 0x22]),
    };
    for (const [name, body] of Object.entries(noText)) {
      it(`${name} is refused as no UTF-8, by both operations`, async () => {
        for (const answer of [await submit(body), await label(body)]) {
          expectError(answer, 'CONTRACT_VALIDATION_FAILED', ['body: is not UTF-8']);
        }
      });
    }

    it('white space around and inside is accepted', async () => {
      const spaced = ` \r\n\t${JSON.stringify(eventOf(), null, 4)}\n `;
      expectBody(await submit(spaced), 202, 'AcceptedIngestion');
    });

    it('NUL and unpaired surrogates are refused wherever they are', async () => {
      const nul = 'must not contain NUL (U+0000)';
      const surrogate = 'must not contain an unpaired surrogate';
      const cases: [from: string, to: string, detail: string][] = [
        ['"shop"', '"sh\\u0000op"', `source_system: ${nul}`],
        ['"shop"', '"\\ud83d"', `source_system: ${surrogate}`],
        ['"shop"', '"\\ude00\\ud83d"', `source_system: ${surrogate}`],
        [
          '{"type":"CARD"',
          '{"a\\u0000b":1,"type":"CARD"',
          `payment_method.<undeclared>: ${nul} in its name`,
        ],
        [
          '{"type":"CARD"',
          '{"x":[1,{"\\udfff":1}],"type":"CARD"',
          `payment_method.<undeclared>[1].<undeclared>: ${surrogate} in its name`,
        ],
      ];
      for (const [from, to, detail] of cases) {
        expectError(await submit(event().replace(from, to)), 'CONTRACT_VALIDATION_FAILED', [
          detail,
        ]);
      }
      expectBody(
        await submit(event().replace('"shop"', '"\\ud83d\\ude00\\uffff"')),
        202,
        'AcceptedIngestion',
      );
    });
  });

  describe('in size', () => {
    const LIMIT = 256 * 1024;
    const sized = (bytes: number): string => {
      const text = JSON.stringify(eventOf({ order: { note: '' } }));
      return text.replace('"note":""', `"note":"${'n'.repeat(bytes - text.length)}"`);
    };

    it('256 KiB are accepted, one byte more is not', async () => {
      expectBody(await submit(sized(LIMIT)), 202, 'AcceptedIngestion');
      const detail = `body: is larger than ${LIMIT} bytes`;
      expectError(await submit(sized(LIMIT + 1)), 'CONTRACT_VALIDATION_FAILED', [detail]);
      expectError(await submit(sized(3_000_000)), 'CONTRACT_VALIDATION_FAILED', [detail]);
      expectError(await label(sized(LIMIT + 1)), 'CONTRACT_VALIDATION_FAILED', [detail]);
    });

    it('32 levels are accepted, one more is not, nor are a hundred thousand', async () => {
      const nested = (levels: number): string =>
        JSON.stringify(eventOf({ order: { x: '@' } })).replace(
          '"@"',
          `${'['.repeat(levels)}1${']'.repeat(levels)}`,
        );
      expectBody(await submit(nested(30)), 202, 'AcceptedIngestion');
      for (const levels of [31, 100, 100_000]) {
        const answer = await submit(nested(levels));
        expectError(answer, 'CONTRACT_VALIDATION_FAILED', [
          `order.<undeclared>${'[0]'.repeat(30)}: must not be nested deeper than 32 levels`,
        ]);
      }
    });

    it('4,096 keys are accepted, one more is not', async () => {
      const keyed = (keys: number) => {
        const event = eventOf({ order: {} });
        const own = JSON.stringify(event).split('":').length - 1;
        const order = Object.fromEntries(
          Array.from({ length: keys - own }, (_, i) => [`k${i}`, i]),
        );
        return JSON.stringify({ ...event, order });
      };
      expectBody(await submit(keyed(4_096)), 202, 'AcceptedIngestion');
      expectError(await submit(keyed(4_097)), 'CONTRACT_VALIDATION_FAILED', [
        'order: must not bring the body above 4096 keys',
      ]);
    });
  });
});
