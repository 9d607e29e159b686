import { expect } from 'chai';
import { expectBody, expectError } from '../support/bodies.ts';
import { eventOf, type Answer } from '../support/merchant.ts';
import { rawBench } from '../support/raw-bench.ts';
import { openSocket, say } from '../support/raw-socket.ts';

describe('malformed HTTP over raw sockets', () => {
  const bench = rawBench();
  const { expectLast, submission, submissionHead, get } = bench;

  describe('what is not HTTP/1.1 is answered 400 and closed', () => {
    const HOST = 'Host: localhost\r\n';
    const POST = `POST /v1/transactions HTTP/1.1\r\n${HOST}`;
    const cases: Record<string, string | Buffer> = {
      'one word': 'hello\r\n\r\n',
      'a TLS handshake': Buffer.from('16030100c8010000c403035a', 'hex'),
      'NUL bytes': Buffer.alloc(100),
      'random bytes': Buffer.from('ff00fe01fd02fc03', 'hex'),
      'no target': `GET\r\n${HOST}\r\n`,
      'a method nobody knows': `FETCH /v1/usage HTTP/1.1\r\n${HOST}\r\n`,
      'a method in lower case': `get /v1/usage HTTP/1.1\r\n${HOST}\r\n`,
      'a blank in the target': `GET /v1/us age HTTP/1.1\r\n${HOST}\r\n`,
      'HTTP/0.9': 'GET /v1/usage\r\n\r\n',
      'HTTP/2.0': `GET /v1/usage HTTP/2.0\r\n${HOST}\r\n`,
      'HTTP/9.9': `GET /v1/usage HTTP/9.9\r\n${HOST}\r\n`,
      'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'another protocol': `GET /v1/usage HTP/1.1\r\n${HOST}\r\n`,
      'a header without a colon': `GET /v1/usage HTTP/1.1\r\n${HOST}x-api-key\r\n\r\n`,
      'a blank before the colon': `GET /v1/usage HTTP/1.1\r\n${HOST}x-api-key : x\r\n\r\n`,
      'a header name of odd characters': `GET /v1/usage HTTP/1.1\r\n${HOST}x(y): x\r\n\r\n`,
      'NUL in a header': `GET /v1/usage HTTP/1.1\r\n${HOST}x-api-key: a\0b\r\n\r\n`,
      'a lone CR in a header': `GET /v1/usage HTTP/1.1\r\n${HOST}x-api-key: a\rb\r\n\r\n`,
      'both Content-Length and Transfer-Encoding': `${POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      'two lengths': `${POST}Content-Length: 4\r\nContent-Length: 5\r\n\r\n{}xxx`,
      'a list of lengths': `${POST}Content-Length: 4, 5\r\n\r\n{}xxx`,
      'a negative length': `${POST}Content-Length: -1\r\n\r\n`,
      'a length in words': `${POST}Content-Length: four\r\n\r\n{}  `,
      'a length beyond all bounds': `${POST}Content-Length: 99999999999999999999999\r\n\r\n`,
      'a coding after chunked': `${POST}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`,
      'an unknown coding': `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    };
    for (const [name, bytes] of Object.entries(cases)) {
      it(name, () =>
        expectLast(bytes, 'CONTRACT_VALIDATION_FAILED', ['request: is not valid HTTP/1.1']),
      );
    }

    it('bad chunks after good headers', async () => {
      for (const chunk of [
        'zz\r\n{}\r\n',
        '-2\r\n{}\r\n',
        `${'F'.repeat(20)}\r\n{}`,
        '2\r\n{}x\r\n',
        '\r\n\r\n',
      ]) {
        const head = await submissionHead(['Transfer-Encoding: chunked']);
        await expectLast(head + chunk, 'CONTRACT_VALIDATION_FAILED');
      }
    });
  });

  describe('what HTTP/1.1 allows is answered by the service itself', () => {
    it('no Host, or more than one, is 400', async () => {
      const usage = 'GET /v1/usage HTTP/1.1\r\nConnection: close\r\n';
      await expectLast(`${usage}\r\n`, 'CONTRACT_VALIDATION_FAILED', ['Host: is required']);
      await expectLast(`${usage}Host: a\r\nHost: b\r\n\r\n`, 'CONTRACT_VALIDATION_FAILED', [
        'Host: must be sent once',
      ]);
    });

    it('HTTP/1.0 needs no Host and is closed after the answer', async () => {
      const request = (await get('/v1/usage'))
        .replace('HTTP/1.1', 'HTTP/1.0')
        .replace('Host: localhost\r\n', '');
      const [answer] = await say(bench.service().port, request);
      expectBody(answer as Answer, 200, 'ProductionUsage');
    });

    it('headers over 16 KiB are 431, in one line, in many, or in the target', async () => {
      const head = 'GET /v1/usage HTTP/1.1\r\nHost: localhost\r\n';
      await expectLast(`${head}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 'HEADERS_TOO_LARGE');
      await expectLast(`${head}${'X-Many: xxxxxxxx\r\n'.repeat(2_000)}\r\n`, 'HEADERS_TOO_LARGE');
      await expectLast(`GET /${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`, 'HEADERS_TOO_LARGE');
    });

    it('Expect: 100-continue is invited, anything else is 417', async () => {
      const socket = openSocket(bench.service().port);
      const body = JSON.stringify(eventOf());
      socket.send(
        await submissionHead([
          `Content-Length: ${body.length}`,
          'Expect: 100-continue',
          'Connection: close',
        ]),
      );
      expect((await socket.answers({ count: 1 }))[0]?.status).to.equal(100);
      socket.send(body);
      const answers = await socket.answers();
      expect(answers).to.have.length(2);
      expectBody(answers[1] as Answer, 202, 'AcceptedIngestion');
      socket.destroy();
      await expectLast(await submission(eventOf(), ['Expect: the-best']), 'EXPECTATION_FAILED');
    });

    it('a chunked body is read like any other', async () => {
      const body = JSON.stringify(eventOf());
      const head = await submissionHead(['Transfer-Encoding: chunked', 'Connection: close']);
      const half = 100;
      const chunks = [body.slice(0, half), body.slice(half)].map(
        (part) => `${part.length.toString(16)};ext=1\r\n${part}\r\n`,
      );
      const [answer] = await say(
        bench.service().port,
        `${head}${chunks.join('')}0\r\nTrailer: x\r\n\r\n`,
      );
      expectBody(answer as Answer, 202, 'AcceptedIngestion');
    });

    it('pipelined requests are answered in their order', async () => {
      const event = eventOf();
      const answers = await say(
        bench.service().port,
        (await submission(event)) +
          (await get('/v1/ingestions/x')) +
          (await submission({})) +
          (await get('/v1/usage', ['Connection: close'])),
      );
      expect(answers.map(({ status }) => status)).to.deep.equal([202, 400, 400, 200]);
      expect(new Set(answers.map(({ headers }) => headers.get('x-request-id')))).to.have.length(4);
    });

    it('garbage behind good requests costs them nothing: each gets its own answer first', async () => {
      const answers = await say(
        bench.service().port,
        (await submission()) + (await submission()) + 'garbage\r\n\r\nmore garbage\r\n\r\n',
      );
      expect(answers.map(({ status }) => status)).to.deep.equal([202, 202, 400]);
      expectError(answers[2] as Answer, 'CONTRACT_VALIDATION_FAILED');
    });

    it('a broken body behind a good request costs it nothing, and nothing behind it is heard', async () => {
      const broken = await submissionHead(['Transfer-Encoding: chunked']);
      const answers = await say(
        bench.service().port,
        `${await submission()}${broken}zz\r\n${await submission()}`,
      );
      expect(answers.map(({ status }) => status)).to.deep.equal([202, 400]);
    });

    it('a refusal before the body is read stays the only answer to its request', async () => {
      const socket = openSocket(bench.service().port);
      socket.send('POST /v1/transactions HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n{}');
      expectError((await socket.answers({ count: 1 }))[0] as Answer, 'UNAUTHORIZED');
      expect(await socket.closed()).to.equal(true);
      expect(await socket.answers()).to.have.length(1);
      socket.destroy();
    });

    it('the rest of a body whose request was refused is not taken for a request', async () => {
      const inner = await get('/v1/usage', ['Connection: close']);
      const outer = [
        'POST /v1/transactions HTTP/1.1',
        'Host: h',
        `Content-Length: ${inner.length}`,
        '\r\n',
      ].join('\r\n');
      const answers = await say(
        bench.service().port,
        outer + inner + (await get('/v1/ingestions/x', ['Connection: close'])),
      );
      expect(answers.map(({ status }) => status)).to.deep.equal([401, 400]);
    });

    it('a caller that closes its side after the request is answered', async () => {
      const socket = openSocket(bench.service().port);
      socket.send(await submission());
      socket.finish();
      const [answer] = await socket.answers({ count: 1 });
      expectBody(answer as Answer, 202, 'AcceptedIngestion');
      expect(await socket.closed()).to.equal(true);
    });

    it('CONNECT is refused, an upgrade is ignored', async () => {
      const connect = await expectLast(
        'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n',
        'METHOD_NOT_ALLOWED',
      );
      expect(connect.headers.get('allow')).to.equal('GET, HEAD, POST');
      const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: x'];
      const [answer] = await say(bench.service().port, await get('/v1/usage', upgrade), {
        count: 1,
      });
      expectBody(answer as Answer, 200, 'ProductionUsage');
      const [h2c] = await say(
        bench.service().port,
        await get('/v1/usage', [
          'Connection: Upgrade, HTTP2-Settings',
          'Upgrade: h2c',
          'HTTP2-Settings: AAMAAABk',
        ]),
        { count: 1 },
      );
      expectBody(h2c as Answer, 200, 'ProductionUsage');
    });

    it('HEAD and OPTIONS carry a request id, OPTIONS the error body', async () => {
      const rest = 'HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
      for (const path of ['/v1/usage', '/v1/transactions', '/nothing']) {
        const [head] = await say(bench.service().port, `HEAD ${path} ${rest}`, {
          withoutBodies: true,
        });
        expect(head?.status).to.be.oneOf([401, 404, 405]);
        expect(head?.headers.get('x-request-id')).to.match(/^req_/);
      }
      await expectLast(`OPTIONS /v1/usage ${rest}`, 'METHOD_NOT_ALLOWED');
      await expectLast(`OPTIONS * ${rest}`, 'NOT_FOUND');
      await expectLast(`TRACE /v1/usage ${rest}`, 'METHOD_NOT_ALLOWED');
    });

    it('targets in absolute and other odd forms are answered', async () => {
      const rest = 'HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
      await expectLast(`GET http://other.example/v1/usage ${rest}`, 'UNAUTHORIZED');
      for (const target of [
        'x://y',
        'http://h/nothing',
        '//',
        '///v1/usage',
        '/\\',
        '/v1/usage#x',
        '/%',
        '*',
      ]) {
        const answers = await say(bench.service().port, `GET ${target} ${rest}`);
        expect(answers, target).to.have.length(1);
        expect(answers[0]?.status, target).to.be.oneOf([400, 401, 404]);
        expectError(answers[0] as Answer, answers[0]?.body.error.code);
      }
    });
  });
});
