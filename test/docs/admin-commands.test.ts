import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { OPERATOR_EVENT_KINDS } from '../../ledger/operator-event-kinds.ts';
import { EXIT, runAdminCli } from '../../server/admin-cli/run.ts';

const ROOT = join(import.meta.dirname, '../..');
const START = 'npm run --silent admin -- ';

/** The commands of a document: lines joined where they end in a backslash, cut where the shell would go on. */
function commandsOf(markdown: string): string[] {
  const blocks = [...markdown.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
  const lines = blocks.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'));
  return lines
    .filter((line) => line.includes(START))
    .map((line) => line.slice(line.indexOf(START) + START.length))
    .map((line) => line.replace(/ [|<>] .*$/, ''));
}

/** Words as a shell makes them of single and double quotes. */
const wordsOf = (command: string): string[] =>
  [...command.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'),
  );

describe('docs/administration.md', () => {
  it('lists every kind of event with its meaning', () => {
    const text = readFileSync(join(ROOT, 'docs/administration.md'), 'utf8');
    const rows = [...text.matchAll(/^\| ([a-z_]+) +\| (.+?) *\|$/gm)];
    const listed = Object.fromEntries(rows.map(([, kind = '', meaning]) => [kind, meaning]));
    for (const [kind, meaning] of Object.entries(OPERATOR_EVENT_KINDS)) {
      expect(listed[kind], kind).to.equal(meaning);
    }
  });
});

describe('the commands in the documentation', () => {
  const documents = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })].filter((path) =>
    readFileSync(join(ROOT, path), 'utf8').includes(START),
  );

  it('are found', () => {
    expect(documents).to.include.members(['README.md', 'docs/administration.md']);
  });

  for (const path of documents) {
    for (const command of commandsOf(readFileSync(join(ROOT, path), 'utf8'))) {
      it(`${path}: ${command}`, async () => {
        const complaints: string[] = [];
        // Nobody listens there: only what is right as a command line gets as far as that.
        const code = await runAdminCli({
          // A file that somebody else has: any other is as good for a command line.
          args: wordsOf(
            command.replace(/\)$/, '').replace(/\S+\.ndjson\.gz/, join(ROOT, 'LICENSE')),
          ),
          environment: { ADMIN_URL: 'http://127.0.0.1:1', ADMIN_TOKEN: 'x'.repeat(32) },
          isTerminal: false,
          readStdin: () => Promise.resolve('{}'),
          print: () => undefined,
          complain: (line) => complaints.push(line),
        });
        const expected = command.includes('--help') ? EXIT.done : EXIT.unreachable;
        expect(code, complaints.join('\n')).to.equal(expected);
      });
    }
  }
});
