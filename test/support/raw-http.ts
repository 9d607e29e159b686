import { request, type Agent } from 'node:http';
import type { Answer } from './merchant.ts';

/** A request as it goes onto the wire: header lines may repeat, the body is bytes. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  /** Name and value in turn; Content-Length is added unless there is one. */
  readonly headers: readonly string[];
  readonly body?: Buffer | string;
}

/** Sends a request that `fetch` would not: repeated headers, odd bytes in them, any body with any method. */
export function sendRaw(
  port: number,
  { method, path, headers, body }: RawRequest,
  agent?: Agent,
): Promise<Answer> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const lines = ['host', `127.0.0.1:${port}`, ...headers];
  if (bytes !== undefined) lines.push('content-length', String(bytes.length));
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, method, path, headers: lines, ...(agent && { agent }) },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({
            status: response.statusCode ?? 0,
            headers: new Headers(response.headers as Record<string, string>),
            body:
              /json/.test(response.headers['content-type'] ?? '') && text !== ''
                ? (JSON.parse(text) as unknown)
                : text || undefined,
          });
        });
      },
    );
    sent.on('error', reject);
    sent.end(bytes);
  });
}
