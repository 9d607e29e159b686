import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { WEBHOOK_BODIES } from '../../contract/webhook.ts';
import { escapeHtml } from '../../openapi/docs/markup.ts';
import { readSettings } from '../../server/config.ts';
import { serveDocs } from '../support/docs-server.ts';
import { EXAMPLES } from '../support/languages.ts';

const FENCES: Record<string, string> = { ts: 'ts', py: 'python', php: 'php' };

describe('the code of the integration guide', () => {
  const guide = readFileSync(join(EXAMPLES, '../integrate.md'), 'utf8');
  const files = readdirSync(EXAMPLES, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

  it('is that of the example files, to the letter', () => {
    const shown = [...guide.matchAll(/^```(?:ts|python|php)\n(.*?)^```$/gms)].map(
      ([block]) => block,
    );
    const expected = files.map((name) => {
      const source = readFileSync(join(EXAMPLES, name), 'utf8');
      return `\`\`\`${FENCES[name.split('.').at(-1) ?? '']}\n${source}\`\`\``;
    });
    expect(files).to.have.length(6);
    expect(shown).to.have.members(expected);
  });

  it('shows webhook bodies as they are sent', () => {
    const bodies = [...guide.matchAll(/^```json\n(.*?)^```$/gms)].map(
      ([, text = '']) => JSON.parse(text) as { event_type: keyof typeof WEBHOOK_BODIES },
    );
    expect(bodies).to.have.length(1);
    for (const body of bodies) WEBHOOK_BODIES[body.event_type].parse(body);
    for (const type of Object.keys(WEBHOOK_BODIES)) expect(guide).to.include(`| \`${type}\``);
  });

  it('tells the retry schedule that is the default', () => {
    const seconds: Record<string, number> = { seconds: 1, minutes: 60, hours: 3600 };
    const waits = [...guide.matchAll(/^\| [2-8] +\| (\d+) (seconds|minutes|hours) +\|/gm)].map(
      ([, count, unit = '']) => Number(count) * (seconds[unit] ?? NaN),
    );
    expect(waits).to.deep.equal(readSettings({}).WEBHOOK_RETRY_SECONDS);
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
