import type {
  ApiDocument,
  ApiOperation,
  Header,
  MediaType,
  Parameter,
  Response,
} from '../document-types.ts';
import { codeBlock, json } from './code-block.ts';
import { curlOf } from './curl.ts';
import { markup, type Markup } from './markup.ts';
import { identifier, inline, paragraphs, textTable } from './prose.ts';
import { resolve } from './resolve.ts';
import { parameterTable, schemaTable } from './schema-table.ts';

/** An operation with its place. */
export interface PlacedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: ApiOperation;
}

/** All operations, in the order of the document. */
export function operationsIn(document: ApiDocument): PlacedOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
}

/** Refusals that every operation describes in the same words, by status: told once, in the section on errors. */
export function commonRefusals(document: ApiDocument): Map<string, Response> {
  const [first, ...others] = operationsIn(document).map(({ operation }) => operation.responses);
  const common = Object.entries(first ?? {}).filter(([status, { description }]) =>
    others.every((responses) => responses[status]?.description === description),
  );
  return new Map(common);
}

/** One operation: what it does, what it takes, what it answers; examples stand beside it where there is room. */
export function operationSection(document: ApiDocument, placed: PlacedOperation): Markup {
  const { method, path, operation } = placed;
  const common = commonRefusals(document);
  const responses = Object.entries(operation.responses);
  // What production answers comes first.
  const successes = responses.filter(([status]) => status.startsWith('2')).toReversed();
  const refusals = responses.filter(([status]) => !status.startsWith('2') && !common.has(status));
  return markup`<section class="operation" id="${operation.operationId}">
<div class="words">
<h3><a class="anchor" href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="route"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></p>
<p class="id">operationId <code>${operation.operationId}</code></p>
${paragraphs(operation.description)}
${parametersPart(document, operation)}
${bodyPart(document, operation)}
${successes.map(([status, response]) => successPart(document, status, response))}
<h4>Refusals</h4>
${textTable(
  ['Status', 'When'],
  refusals.map(([status, { description }]) => [
    badge(status),
    markup`${description.split('\n\n').map((line) => markup`<p>${inline(line)}</p>`)}`,
  ]),
)}
<p class="note">And, like every operation, ${[...common.keys()].join(', ')}: see <a href="#errors">Errors</a>.</p>
</div>
<div class="examples">
${codeBlock('Request', curlOf(document, placed))}
${exampleParts('Request body', operation.requestBody?.content['application/json'], 1)}
${successes.map(([status, { content }]) => exampleParts(`Response ${status}`, content['application/json'], 0))}
${refusalExamples(refusals)}
</div>
</section>`;
}

/** A status code, coloured by its class. */
export function badge(status: string): Markup {
  return markup`<span class="status s${status.slice(0, 1)}">${status}</span>`;
}

function parametersPart(document: ApiDocument, operation: ApiOperation): Markup | undefined {
  const parameters = operation.parameters.map((parameter) =>
    resolve<Parameter>(document, parameter),
  );
  if (parameters.length === 0) return undefined;
  return markup`<h4>Parameters</h4>
${parameterTable(document, parameters)}`;
}

function bodyPart(document: ApiDocument, { requestBody }: ApiOperation): Markup | undefined {
  const schema = requestBody?.content['application/json']?.schema;
  if (requestBody === undefined || schema === undefined) return undefined;
  return markup`<h4>Body <span class="schema-name">${schemaName(schema)}</span></h4>
${paragraphs(requestBody.description ?? '')}
${schemaTable(document, schema)}`;
}

function successPart(document: ApiDocument, status: string, response: Response): Markup {
  const schema = response.content['application/json']?.schema ?? {};
  const headers = Object.entries(response.headers).map(([name, reference]): [Markup, string] => [
    identifier(name),
    resolve<Header>(document, reference).description,
  ]);
  return markup`<h4>${badge(status)} <span class="schema-name">${schemaName(schema)}</span></h4>
${paragraphs(response.description)}
${schemaTable(document, schema)}
<details class="headers"><summary>Headers</summary>${textTable(['Header', 'Meaning'], headers)}</details>`;
}

function schemaName({ $ref }: { $ref?: string }): string {
  return $ref?.split('/').at(-1) ?? '';
}

/** The examples of a body from the given one on; the first is open, the others can be opened. */
function exampleParts(title: string, body: MediaType | undefined, from: number): Markup[] {
  const examples = Object.values(body?.examples ?? {});
  return examples.slice(from).map(({ summary, value }, index) => {
    const block = codeBlock(`${title}: ${summary}`, json(value));
    return from === 0 && index === 0
      ? block
      : markup`<details class="more"><summary>${title}: ${summary}</summary>${block}</details>`;
  });
}

function refusalExamples(refusals: readonly [string, Response][]): Markup[] {
  return refusals.flatMap(([status, { content }]) =>
    Object.entries(content['application/json']?.examples ?? {}).map(
      ([code, { value }]) =>
        markup`<details class="more"><summary>${badge(status)} ${code}</summary>${codeBlock(`Response ${status}: ${code}`, json(value))}</details>`,
    ),
  );
}
