/** What must not be sent (contract, section 2.4), and the sentence that refuses it. */
export const FORBIDDEN_KINDS = {
  CARD_NUMBER: 'must not hold a card number; send a stable token, or BIN and last4',
  SECURITY_CODE: 'must not hold a card security code (CVC, CVV); leave it out',
  TRACK_DATA: 'must not hold track data of a card; send a stable token',
  ACCOUNT_NUMBER: 'must not hold an account number; send a stable token',
  PASSWORD: 'must not hold a password; leave it out',
  IP_ADDRESS: 'must not hold a full IP address; send a prefix such as 203.0.113.0/24',
} as const satisfies Record<string, string>;

/** One kind of forbidden data. */
export type ForbiddenKind = keyof typeof FORBIDDEN_KINDS;
