import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { escapeHtml } from '../../openapi/docs/markup.ts';
import { serveDocs } from '../support/docs-server.ts';
import { EXAMPLES } from '../support/languages.ts';

const FENCES: Record<string, string> = { ts: 'ts', py: 'python', php: 'php' };

describe('the code of the integration guide', () => {
  const guide = readFileSync(join(EXAMPLES, '../integrate.md'), 'utf8');
  const files = readdirSync(EXAMPLES, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

  it('is that of the example files, to the letter', () => {
    const shown = [...guide.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([block]) => block);
    const expected = files.map((name) => {
      const source = readFileSync(join(EXAMPLES, name), 'utf8');
      return `\`\`\`${FENCES[name.split('.').at(-1) ?? '']}\n${source}\`\`\``;
    });
    expect(files).to.have.length(6);
    expect(shown).to.have.members(expected);
  });

  it('for webhooks is what the documentation page shows', async () => {
    const docs = await serveDocs();
    try {
      const page = await (await fetch(`${docs.url}/docs`)).text();
      const source = readFileSync(join(EXAMPLES, 'verify-webhook.ts'), 'utf8');
      expect(page).to.include(`<code>${escapeHtml(source)}</code>`);
    } finally {
      await docs.close();
    }
  });
});
