/** The demo cannot go on; the message is one sentence for a person and says what to do. */
export class DemoError extends Error {
  override name = 'DemoError';
}
