import { Refusal } from '../contract/errors.ts';

/** A path template such as `/v1/ingestions/{ingestionId}` as a matcher of raw request paths. */
export interface PathTemplate {
  readonly template: string;
  readonly pattern: RegExp;
  readonly parameters: readonly string[];
}

/**
 * Compiles a template. Matching is case-sensitive and a parameter may be empty, so that an empty id reaches its
 * procedure and is refused as such (400) instead of being an unknown path (404).
 */
export function compilePath(template: string): PathTemplate {
  const parameters: string[] = [];
  const source = template.replaceAll(/\{(\w+)\}|[^\w/-]/g, (text, name: string | undefined) => {
    if (name === undefined) return `\\${text}`;
    parameters.push(name);
    return '([^/]*)';
  });
  return { template, pattern: new RegExp(`^${source}$`), parameters };
}

/**
 * The decoded parameters of a raw path that matches.
 *
 * @throws Refusal CONTRACT_VALIDATION_FAILED for broken percent-encoding (also for bytes that are not UTF-8)
 */
export function pathParameters(path: PathTemplate, rawPath: string): Record<string, string> {
  const match = path.pattern.exec(rawPath);
  const values: Record<string, string> = {};
  for (const [index, name] of path.parameters.entries()) {
    try {
      values[name] = decodeURIComponent(match?.[index + 1] ?? '');
    } catch {
      throw new Refusal('CONTRACT_VALIDATION_FAILED', {
        details: [`${name}: has broken percent-encoding`],
      });
    }
  }
  return values;
}
