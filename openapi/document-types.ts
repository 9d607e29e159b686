/** The parts of OpenAPI 3.0.3 that our document uses (https://spec.openapis.org/oas/v3.0.3). */

/** A pointer to a component, such as `#/components/schemas/Risk`. */
export interface Reference {
  readonly $ref: string;
}

/** Section 4.7.24: a schema; `nullable` is the 3.0 way to allow null. */
export interface Schema {
  $ref?: string;
  type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
  format?: string;
  enum?: unknown[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  nullable?: boolean;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping?: Record<string, string> };
  title?: string;
  description?: string;
  example?: unknown;
}

/** Section 4.7.12: a path, query or header parameter. */
export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: Schema;
}

/** Section 4.7.21: a response header. */
export interface Header {
  description: string;
  required?: boolean;
  schema: Schema;
}

/** Section 4.7.19: an example with a one-line summary. */
export interface Example {
  summary: string;
  value: unknown;
}

/** Section 4.7.14: one media type of a body. */
export interface MediaType {
  schema: Schema;
  examples?: Record<string, Example>;
}

/** Section 4.7.17: one status of an operation. */
export interface Response {
  description: string;
  headers: Record<string, Reference>;
  content: Record<string, MediaType>;
}

/** Section 4.7.10: one method on one path. */
export interface ApiOperation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters: (Parameter | Reference)[];
  requestBody?: { required: boolean; description?: string; content: Record<string, MediaType> };
  responses: Record<string, Response>;
}

/** What the service sends, described like an operation that the reader offers. */
export interface ApiWebhook {
  operationId: string;
  summary: string;
  description: string;
  parameters: Parameter[];
  requestBody: { required: boolean; description: string; content: Record<string, MediaType> };
  responses: Record<string, { description: string }>;
}

/** Section 4.7.1: the whole document. */
export interface ApiDocument {
  openapi: '3.0.3';
  info: {
    title: string;
    version: string;
    description: string;
    contact: { name: string };
    license: { name: string; url: string };
  };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  security: Record<string, string[]>[];
  paths: Record<string, Record<string, ApiOperation>>;
  'x-webhooks': Readonly<Record<string, { readonly post: ApiWebhook }>>;
  components: {
    securitySchemes: Record<
      string,
      { type: 'apiKey'; in: 'header'; name: string; description: string }
    >;
    parameters: Record<string, Parameter>;
    headers: Record<string, Header>;
    schemas: Record<string, Schema>;
  };
}
