import { router } from '../procedure.ts';
import { attempts, deliveries, recover, resend } from './webhook-deliveries.ts';
import { activate, disable, list, register, rewrap, rotate, update } from './webhook-endpoints.ts';

/** Where Sites want events delivered, what was delivered, and what to do when it was not. */
export const webhooks = router({
  register,
  update,
  activate,
  rotate_secret: rotate,
  disable,
  list,
  deliveries,
  attempts,
  resend,
  recover,
  rewrap,
});
