import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { createDocsRouter } from '../../server/docs.ts';

/** Serves the documentation alone, as the service does, on a port of its own. */
export async function serveDocs(): Promise<{ url: string; close: () => Promise<void> }> {
  const answer = new Koa().use(createDocsRouter().routes()).callback();
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
