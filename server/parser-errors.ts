import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ERRORS, type ErrorCode } from '../contract/errors.ts';
import { errorBody } from './middleware/errors.ts';
import { newRequestId } from './middleware/request-id.ts';

const REASONS: Record<number, string> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  417: 'Expectation Failed',
  431: 'Request Header Fields Too Large',
};

/** Gives the answers that Node's HTTP parser would give by itself the contract's error body and a request id. */
export function answerParserErrors(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET' || !socket.writable || hasAnswered(socket)) {
      socket.destroy();
      return;
    }
    socket.end(rawAnswer(codeOf(error)));
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const requestId = newRequestId();
    const body = JSON.stringify(errorBody(requestId, 'EXPECTATION_FAILED'));
    response.writeHead(417, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'x-request-id': requestId,
      connection: 'close',
    });
    response.end(body);
  });
}

function codeOf(error: NodeJS.ErrnoException): ErrorCode {
  if (error.code === 'HPE_HEADER_OVERFLOW') return 'HEADERS_TOO_LARGE';
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'REQUEST_TIMEOUT';
  return 'CONTRACT_VALIDATION_FAILED';
}

/** True where a response to this connection's current request has begun: a second one would corrupt it. */
function hasAnswered(socket: Duplex): boolean {
  const message = (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage;
  return message?.headersSent === true;
}

function rawAnswer(code: ErrorCode): string {
  const requestId = newRequestId();
  const { status } = ERRORS[code];
  const details =
    code === 'CONTRACT_VALIDATION_FAILED' ? ['request: is not valid HTTP/1.1'] : undefined;
  const body = JSON.stringify(errorBody(requestId, code, details));
  return [
    `HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
