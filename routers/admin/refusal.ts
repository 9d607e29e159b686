import { TRPCError } from '@trpc/server';

/** A command that is refused as things stand; the message says what stands against it. */
export const refusal = (message: string): TRPCError =>
  new TRPCError({ code: 'PRECONDITION_FAILED', message });
