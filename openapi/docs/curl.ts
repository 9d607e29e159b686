import type { ApiDocument, ApiOperation, Parameter } from '../document-types.ts';
import { resolve } from './resolve.ts';
import { json } from './code-block.ts';
import { markup, type Child, type Markup } from './markup.ts';

/** A curl command for an operation, with its examples; it runs as it stands once BASE_URL and API_KEY are set. */
export function curlOf(
  document: ApiDocument,
  { method, path, operation }: { method: string; path: string; operation: ApiOperation },
): Markup {
  const parameters = operation.parameters.map((parameter) =>
    resolve<Parameter>(document, parameter),
  );
  const address = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((url, { name, schema }) => url.replace(`{${name}}`, String(schema.example)), path);
  const headers = parameters
    .filter((parameter) => parameter.in === 'header')
    .map(({ name, schema }) => `-H '${name}: ${String(schema.example)}'`);
  const example = firstExample(operation);
  // curl sends GET by itself, and POST where there is a body.
  if ((method === 'post') !== (example !== undefined))
    throw new Error(`${method} ${path} needs -X`);
  const lines: Child[] = [`"$BASE_URL${address}"`, '-H "x-api-key: $API_KEY"', ...headers];
  if (example !== undefined) lines.push("-H 'Content-Type: application/json'", body(example));
  return command(lines);
}

/** The options of one curl call, a line each. */
export function command(lines: readonly Child[]): Markup {
  return markup`curl -sS ${lines.map((line, index) => (index === 0 ? line : [' \\\n  ', line]))}`;
}

/** A JSON body as a shell word. @throws Error for a text with a quote, which would need another way to say it */
export function body(value: unknown): Markup {
  if (JSON.stringify(value).includes("'")) throw new Error('an example body holds a single quote');
  return markup`-d '${json(value)}'`;
}

function firstExample(operation: ApiOperation): unknown {
  const examples = operation.requestBody?.content['application/json']?.examples ?? {};
  return Object.values(examples)[0]?.value;
}
