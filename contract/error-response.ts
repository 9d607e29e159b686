import { z } from 'zod';
import { RequestId } from './primitives.ts';

/** Body of every refusal (contract, section 2.12); codes and sentences come from `errors.ts`. */
export const ErrorResponse = z
  .strictObject({
    request_id: RequestId,
    error: z.strictObject({
      code: z.string().meta({ example: 'CONTRACT_VALIDATION_FAILED' }),
      message: z.string().meta({ example: 'The request does not satisfy the contract.' }),
      details: z
        .array(z.string())
        .meta({
          description: 'One `path: what is wrong` per problem; never a value that was sent.',
        })
        .optional(),
    }),
  })
  .meta({ id: 'ErrorResponse' });
/** Body of every refusal. */
export type ErrorResponse = z.infer<typeof ErrorResponse>;
