import { expect } from 'chai';
import { mergeResults } from '../../bench/results-file.ts';

const section = (name: string, text: string): string => `## Scenario: ${name}\n\n${text}`;

describe('results of the bench', () => {
  it('a scenario replaces its own figures and leaves those of the others', () => {
    const first = mergeResults('', new Map([['status', '- then\n\n### Look-ups\n\nold status']]));
    const second = mergeResults(first, new Map([['ingest', 'old ingest']]));
    const third = mergeResults(second, new Map([['ingest', 'new ingest']]));
    expect(third).to.contain(section('status', '- then\n\n### Look-ups\n\nold status'));
    expect(third).to.contain(section('ingest', 'new ingest')).and.not.to.contain('old ingest');
  });

  it('scenarios stand in the order of --help, and writing the same twice changes nothing', () => {
    const both = new Map([
      ['status', 'two'],
      ['ingest', 'one'],
    ] as const);
    const text = mergeResults('', both);
    expect(text.indexOf('Scenario: ingest')).to.be.within(1, text.indexOf('Scenario: status'));
    expect(mergeResults(text, new Map())).to.equal(text);
  });

  it('figures of no known scenario are dropped, so that a renamed one leaves nothing behind', () => {
    const stale = `# What the service reaches\n\n- Command\n\n## Ingest at saturation\n\n| 1 |\n\n${section('gone', '| 2 |')}\n`;
    const text = mergeResults(stale, new Map([['ingest', '| 3 |']]));
    expect(text).to.contain('| 3 |');
    expect(text).not.to.match(/\| [12] \|/);
  });
});
