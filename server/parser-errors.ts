import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ERRORS, type ErrorCode } from '../contract/errors.ts';
import { errorBody } from './middleware/errors.ts';
import { newRequestId } from './middleware/request-id.ts';

const REASONS: Record<number, string> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  417: 'Expectation Failed',
  431: 'Request Header Fields Too Large',
};

/** After our last word the caller gets this long to read it and to close; then we do, ms. */
const LINGER_MS = 1_000;

/** What is known of one connection. */
interface Exchange {
  /** The latest request on it, and its answer. */
  request?: IncomingMessage;
  response?: ServerResponse;
  /** Requests that were parsed and are not answered yet. */
  open: number;
  /** Called whenever one of them is answered. */
  onAnswered?: () => void;
  /** The last word is spoken, or will be: whatever else is wrong no longer matters. */
  refused: boolean;
}

/**
 * Gives the answers that Node's HTTP parser would give by itself the contract's error body and a request id.
 *
 * @param onRefused  called for each of them: no middleware, so no log line and no other metric, ever sees such a request
 */
export function answerParserErrors(server: Server, onRefused: (code: ErrorCode) => void): void {
  const exchanges = new WeakMap<Duplex, Exchange>();
  const exchangeOn = (socket: Duplex): Exchange => {
    let exchange = exchanges.get(socket);
    if (exchange === undefined) {
      exchange = { open: 0, refused: false };
      exchanges.set(socket, exchange);
    }
    return exchange;
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const exchange = exchangeOn(request.socket);
    exchange.request = request;
    exchange.response = response;
    exchange.open += 1;
    response.once('close', () => {
      exchange.open -= 1;
      exchange.onAnswered?.();
    });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    // A parser that has failed reports every further byte.
    const exchange = exchangeOn(socket);
    if (exchange.refused) return;
    exchange.refused = true;
    onRefused(codeOf(error));
    refuseInTurn(socket, exchange, codeOf(error));
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    onRefused('EXPECTATION_FAILED');
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
  // Node would drop the connection without a word. What follows a CONNECT is no HTTP, so nothing else is read.
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    onRefused('METHOD_NOT_ALLOWED');
    socket.on('error', () => socket.destroy()).resume();
    sayLast(socket, rawAnswer('METHOD_NOT_ALLOWED', ['allow: GET, HEAD, POST']));
  });
}

/**
 * Refuses what the parser could not read, after the answers to all that it could: several requests may be under way on
 * one connection, and a caller takes the first answer for that of its first request. Written at once, the 400 for garbage
 * behind an accepted event would tell its sender never to repeat it.
 */
function refuseInTurn(socket: Duplex, exchange: Exchange, code: ErrorCode): void {
  const { request, response } = exchange;
  // An error in the body of the latest request is the answer to it; any other one follows it.
  const isItsBody = request?.complete === false;
  const mayRefuse = (): boolean => exchange.open <= (isItsBody ? 1 : 0);
  const refuse = (): void => {
    delete exchange.onAnswered;
    if (isItsBody && response?.headersSent === true) socket.destroy();
    else sayLast(socket, rawAnswer(code));
  };
  if (mayRefuse()) {
    refuse();
    return;
  }
  exchange.onAnswered = () => {
    if (mayRefuse()) refuse();
  };
}

/** Sends the last answer of a connection, and closes it even if the caller never does. */
function sayLast(socket: Duplex, answer: string): void {
  const linger = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(linger));
  socket.end(answer);
}

function codeOf(error: NodeJS.ErrnoException): ErrorCode {
  if (error.code === 'HPE_HEADER_OVERFLOW') return 'HEADERS_TOO_LARGE';
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'REQUEST_TIMEOUT';
  return 'CONTRACT_VALIDATION_FAILED';
}

function rawAnswer(code: ErrorCode, fields: readonly string[] = []): string {
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
    ...fields,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
