import { readFileSync } from 'node:fs';
import type { ApiDocument, Header, Schema } from '../document-types.ts';
import { unknownKeywords } from './schema-problems.ts';

/** One documented status of an operation. */
export interface DescribedAnswer {
  readonly headers: ReadonlyMap<string, Header>;
  readonly schema: Schema;
  /** Codes a refusal may carry; empty for a success. */
  readonly codes: ReadonlySet<string>;
}

/** One operation as it is described. */
export interface DescribedOperation {
  readonly operationId: string;
  readonly answers: ReadonlyMap<number, DescribedAnswer>;
}

/** The parts of the OpenAPI document that answers are judged by. */
export interface Description {
  readonly document: ApiDocument;
  readonly operations: ReadonlyMap<string, DescribedOperation>;
  readonly schemas: Readonly<Record<string, Schema>>;
}

const PUBLISHED = new URL('../openapi.json', import.meta.url);

/** Reads the published document of this checkout. */
export function readPublishedDocument(): ApiDocument {
  return JSON.parse(readFileSync(PUBLISHED, 'utf8')) as ApiDocument;
}

/**
 * Resolves the references of a document.
 *
 * @throws Error for a reference to nothing, and for a keyword that answers could not be judged by
 */
export function describe(document: ApiDocument): Description {
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    const [unknown] = unknownKeywords(schema);
    if (unknown !== undefined)
      throw new Error(`schema-problems.ts does not know ${unknown} (${name})`);
  }
  const operations = new Map<string, DescribedOperation>();
  for (const methods of Object.values(document.paths)) {
    for (const { operationId, responses } of Object.values(methods)) {
      const answers = new Map<number, DescribedAnswer>();
      for (const [status, { headers, content }] of Object.entries(responses)) {
        const media = content['application/json'];
        if (media === undefined) throw new Error(`${operationId} ${status} has no JSON body`);
        answers.set(Number(status), {
          schema: media.schema,
          codes: new Set(Number(status) < 400 ? [] : Object.keys(media.examples ?? {})),
          headers: new Map(
            Object.entries(headers).map(([name, { $ref }]) => {
              const header = document.components.headers[$ref.slice($ref.lastIndexOf('/') + 1)];
              if (header === undefined) throw new Error(`${$ref} does not exist`);
              return [name, header];
            }),
          ),
        });
      }
      operations.set(operationId, { operationId, answers });
    }
  }
  return { document, operations, schemas: document.components.schemas };
}
