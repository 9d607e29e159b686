import { errorSection } from './docs/error-section.ts';
import { escapeHtml, markup, trusted, type Markup } from './docs/markup.ts';
import { operationSection, operationsIn } from './docs/operation-section.ts';
import { paragraphs } from './docs/prose.ts';
import { evaluationStatus, forbiddenData, limits, paymentLife } from './docs/reference-sections.ts';
import { authentication, idempotency, ORIGIN_MARK, quickStart } from './docs/start-sections.ts';
import { webhookSection } from './docs/webhook-section.ts';
import type { ApiDocument } from './document-types.ts';

/** What the commands on the page call where a request does not tell. */
const DEFAULT_ORIGIN = 'http://127.0.0.1:8080';

/** What the page is made from. */
export interface DocsPageOptions {
  readonly document: ApiDocument;
  /** The example program that verifies a webhook, as it is shown. */
  readonly verifierSource: string;
}

/** A part of the page that can be linked to. */
interface Section {
  readonly id: string;
  readonly title: string;
  readonly content: Markup;
  readonly children?: readonly { readonly id: string; readonly title: string }[];
}

/**
 * Renders the page a merchant's developer reads, from the published document. It needs no script, and nothing from
 * elsewhere. Rendered once; what is returned only puts in the address a reader used (such as `https://api.example.com`).
 */
export function renderDocsPage(options: DocsPageOptions): (origin?: string) => string {
  const sections = sectionsOf(options);
  const parts = pageOf(options.document, sections).text.split(ORIGIN_MARK);
  return (origin = DEFAULT_ORIGIN) => parts.join(escapeHtml(origin));
}

function sectionsOf({ document, verifierSource }: DocsPageOptions): Section[] {
  const operations = operationsIn(document);
  return [
    { id: 'quick-start', title: 'Quick start', content: quickStart() },
    { id: 'authentication', title: 'Authentication', content: authentication() },
    { id: 'idempotency', title: 'Idempotency', content: idempotency() },
    { id: 'payments', title: 'Events of a payment', content: paymentLife() },
    {
      id: 'operations',
      title: 'Operations',
      content: markup`${operations.map((placed) => operationSection(document, placed))}`,
      children: operations.map(({ operation }) => ({
        id: operation.operationId,
        title: operation.summary,
      })),
    },
    {
      id: 'status',
      title: 'Evaluation status',
      content: evaluationStatus(),
      children: [{ id: 'levels', title: 'Score, level, decision' }],
    },
    {
      id: 'errors',
      title: 'Errors',
      content: errorSection(document),
      children: [
        { id: 'error-codes', title: 'Error codes' },
        { id: 'retries', title: 'Retry rules' },
      ],
    },
    { id: 'forbidden-data', title: 'Forbidden data', content: forbiddenData() },
    {
      id: 'limits',
      title: 'Limits',
      content: limits(),
      children: [{ id: 'objectives', title: 'Service objectives' }],
    },
    {
      id: 'webhooks',
      title: 'Webhooks',
      content: webhookSection(document, verifierSource),
      children: [
        { id: 'webhook-retries', title: 'Retries' },
        { id: 'webhook-bodies', title: 'Bodies' },
        { id: 'webhook-verification', title: 'Verification' },
      ],
    },
  ];
}

function pageOf({ info }: ApiDocument, sections: readonly Section[]): Markup {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title}</title>
<link rel="icon" href="/favicon.ico" type="image/svg+xml">
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<a class="to-contents" href="#contents">Contents</a>
<nav class="side" id="contents" aria-label="Contents">${contents(info, sections)}</nav>
<main id="content" tabindex="-1">
<header class="intro">
<h1>${info.title}</h1>
<p class="facts"><span>Version ${info.version}</span> <span>Base URL <code>${trusted(ORIGIN_MARK)}</code></span> <a href="/openapi.json">OpenAPI 3.0 description</a></p>
${paragraphs(info.description)}
</header>
${sections.map(
  ({ id, title, content }) => markup`
<section class="part" id="${id}">
<h2><a class="anchor" href="#${id}">${title}</a></h2>
${content}
</section>`,
)}
</main>
</body>
</html>
`;
}

function contents({ title }: ApiDocument['info'], sections: readonly Section[]): Markup {
  return markup`<p class="brand"><a href="#content">${title}</a></p>
<ul>${sections.map(
    (section) => markup`
<li><a href="#${section.id}">${section.title}</a>${
      section.children === undefined
        ? undefined
        : markup`<ul>${section.children.map(({ id, title }) => markup`<li><a href="#${id}">${title}</a></li>`)}</ul>`
    }</li>`,
  )}
</ul>`;
}
