/** A backup cannot be made or used; the message is one sentence that says what to do. */
export class BackupError extends Error {
  override name = 'BackupError';
}
