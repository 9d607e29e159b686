import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readSettings } from '../../server/config.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8');

/** Names in the first column of README's table of settings. */
function namesOfReadme(): string[] {
  const table = /^\| name +\| default.*?\n\n/ms.exec(read('README.md'))?.[0] ?? '';
  return [...table.matchAll(/^\| ([A-Z_, ]+) \|/gm)].flatMap(([, cell = '']) =>
    cell.split(',').map((name) => name.trim()),
  );
}

describe('the settings', () => {
  it('are the same in README, in .env.example and in the service', () => {
    const told = namesOfReadme();
    expect(told.length).to.be.greaterThan(15);
    const example = [...read('.env.example').matchAll(/^# ([A-Z_]+)=/gm)].map(
      ([, name = '']) => name,
    );
    expect(example.toSorted()).to.deep.equal(told.toSorted());
    const source = [...read('server/config.ts').matchAll(/^ {2}([A-Z_]+): /gm)].map(
      ([, name = '']) => name,
    );
    // Only the command line reads ADMIN_URL.
    expect([...source, 'ADMIN_URL'].toSorted()).to.deep.equal(told.toSorted());
  });

  it('have the defaults that .env.example shows', () => {
    const settings = new Map(
      Object.entries(readSettings({})).map(([name, value]) => [
        name,
        JSON.stringify(value).replaceAll(/[[\]"]/g, ''),
      ]),
    );
    const shown = [...read('.env.example').matchAll(/^# ([A-Z_]+)=(\S*)/gm)];
    for (const [, name = '', value = ''] of shown) {
      expect(settings.get(name) ?? '', name).to.equal(value);
    }
  });
});
