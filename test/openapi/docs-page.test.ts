import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { ERRORS } from '../../contract/errors.ts';
import { EvaluationStatus } from '../../contract/ingestion.ts';
import { MAX_DEPTH, MAX_KEYS } from '../../contract/json-limits.ts';
import { RiskDecision, RiskLevel } from '../../contract/risk.ts';
import { TransactionEvent } from '../../contract/transaction.ts';
import { RATE_LIMIT } from '../../ledger/rate-window.ts';
import { bandOf } from '../../risk/decision.ts';
import { BODY_LIMIT } from '../../server/middleware/json-body.ts';
import type { ApiDocument } from '../../openapi/document-types.ts';
import { escapeHtml, markup } from '../../openapi/docs/markup.ts';
import { operationsIn } from '../../openapi/docs/operation-section.ts';
import { renderDocsPage } from '../../openapi/docs-page.ts';

const room = new URL('../../openapi/', import.meta.url);
const document = JSON.parse(readFileSync(new URL('openapi.json', room), 'utf8')) as ApiDocument;
const verifierSource = readFileSync(new URL('../docs/examples/verify-webhook.ts', room), 'utf8');
const page = renderDocsPage({ document, verifierSource })('https://risk.example');
const text = textOf(page);

describe('the documentation page', () => {
  it('needs no script, no inline style and nothing from elsewhere', () => {
    expect(page).to.not.match(/<script|\sstyle=|\son\w+=|<iframe|<img|@import/i);
    const addresses = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address);
    for (const address of addresses) expect(address).to.match(/^(#|\/)[^/]/);
    expect(readFileSync(new URL('docs/style.css', room), 'utf8')).to.not.match(/url\(|@import/);
  });

  it('has headings in order, unique anchors and no link that leads nowhere', () => {
    const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).to.equal(ids.length);
    for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(ids).to.include(target);
    let level = 0;
    for (const [, digit] of page.matchAll(/<h([1-6])/g)) {
      expect(Number(digit)).to.be.at.most(level + 1);
      level = Number(digit);
    }
    expect(page.match(/<h1/g)).to.have.length(1);
  });

  it('closes every element it opens', () => {
    const open: string[] = [];
    for (const [, slash, name = ''] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)(?=[\s>])/g)) {
      if (['meta', 'link', 'wbr', 'br'].includes(name)) continue;
      if (slash === '') open.push(name);
      else expect(open.pop()).to.equal(name);
    }
    expect(open).to.deep.equal([]);
  });

  it('tells of every operation, parameter, field, status and header of the description', () => {
    for (const { operation, path } of operationsIn(document)) {
      expect(text).to.include(path).and.include(operation.operationId);
      for (const { headers } of Object.values(operation.responses)) {
        for (const name of Object.keys(headers)) expect(text).to.include(name);
      }
    }
    for (const { properties = {} } of Object.values(document.components.schemas)) {
      for (const name of Object.keys(properties)) expect(text).to.include(name);
    }
  });

  it('tells of every error code with its advice', () => {
    for (const [code, { status, message, advice }] of Object.entries(ERRORS)) {
      expect(text).to.include(code).and.include(status).and.include(message).and.include(advice);
    }
  });

  it('maps every status of the contract to the words of the guide', () => {
    const rows = rowsOf(page, 'status');
    expect(rows.map(([status]) => status)).to.include.members(EvaluationStatus.options);
    const guide = rows
      .filter(([status = '']) => EvaluationStatus.options.includes(status as EvaluationStatus))
      .flatMap(([, words = '']) => words.replace('In guides: ', '').split(', '));
    expect(guide).to.have.members([
      'ACCEPTED',
      'STORED',
      'EVALUATING',
      'EVALUATED',
      'FAILED_RETRYABLE',
      'FAILED_FINAL',
      'DLQ',
    ]);
  });

  it('tells the bands of the score that the evaluation uses', () => {
    const bands = rowsOf(page, 'status').filter(([range = '']) => / to /.test(range));
    expect(bands).to.have.length(RiskLevel.options.length);
    for (const [range = '', level, decision] of bands) {
      for (const score of range.split(' to ').map(Number)) {
        expect(bandOf(score)).to.deep.equal({ level, decision });
      }
    }
    expect(bands.map(([, , decision]) => decision)).to.have.members(RiskDecision.options);
  });

  it('tells the limits that the code enforces', () => {
    const limits = rowsOf(page, 'limits').flat().join('\n');
    expect(limits).to.include(`${RATE_LIMIT} requests in any 60 seconds`);
    expect(limits).to.include(
      `${BODY_LIMIT / 1024} KiB, ${MAX_DEPTH} levels, ${MAX_KEYS.toLocaleString('en')} keys`,
    );
    expect(document.paths['/v1/transactions']?.['post']?.requestBody?.description).to.include(
      `${BODY_LIMIT / 1024} KiB, ${MAX_DEPTH} levels and ${MAX_KEYS.toLocaleString('en')} keys`,
    );
  });

  it('shows commands that a shell understands, with valid bodies and the address that was asked', () => {
    const blocks = [...page.matchAll(/<pre[^>]*><code>(.*?)<\/code><\/pre>/gs)].map(
      ([, code = '']) => textOf(code),
    );
    const exports = blocks.find((block) => block.startsWith('export BASE_URL')) ?? '';
    expect(exports).to.include("BASE_URL='https://risk.example'");
    const calls = blocks.filter((block) => /^curl /m.test(block));
    expect(calls).to.have.length(2 + operationsIn(document).length);
    for (const call of calls) {
      const given = argumentsOf(exports, call);
      expect(given.find((word) => word.startsWith('https://risk.example/v1/'))).to.not.match(
        /[{}$]/,
      );
      expect(given).to.include('x-api-key: trk_sbx_paste_your_key_here');
      const at = given.indexOf('-d');
      if (at === -1) continue;
      const body: unknown = JSON.parse(given[at + 1] ?? '');
      expect(given.some((word) => /^Idempotency-Key: [A-Za-z0-9._:-]{8,128}$/.test(word))).to.equal(
        true,
      );
      if (given.includes('https://risk.example/v1/transactions')) TransactionEvent.parse(body);
    }
  });

  it('escapes whatever is put into it', () => {
    expect(escapeHtml(`<a href="x">'&'</a>`)).to.equal(
      '&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;',
    );
    expect(markup`<b>${['<', [markup`<i>${'&'}</i>`]]}</b>`.text).to.equal(
      '<b>&lt;<i>&amp;</i></b>',
    );
    const info = { ...document.info, title: '<script>"' };
    const other = renderDocsPage({
      document: { ...document, info },
      verifierSource: '</code><script>',
    });
    expect(other('https://"><script>')).to.not.include('<script');
  });
});

/** What a reader sees: without tags, entities read. */
function textOf(fragment: string): string {
  return fragment
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

/** The cells of all table rows of one part of the page. */
function rowsOf(html: string, id: string): string[][] {
  const from = html.indexOf(`<section class="part" id="${id}"`);
  const part = html.slice(from, html.indexOf('<section class="part"', from + 1));
  return [...part.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => textOf(cell)),
  );
}

/** What curl would be called with. */
function argumentsOf(exports: string, call: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${exports}\n${call}`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\0');
}
