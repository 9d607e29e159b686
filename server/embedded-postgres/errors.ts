/**
 * The embedded database could not be started or used, worded in one sentence for the person who starts the service:
 * what is wrong and what to do. Never carries a password.
 */
export class EmbeddedPostgresError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'EmbeddedPostgresError';
  }
}

/** The `code` of a system or database error (`ENOSPC`, `57P03`); undefined where there is none. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The sentence for a full disk. It is met in file calls, in initdb's output and in the server's log. */
export function diskFull(directory: string, cause?: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The disk that holds ${directory} is full: free some space (at least 500 MB) and start again.`,
    { cause },
  );
}

/**
 * Words a failed file operation. Errors that are already worded, and those that no advice fits, are returned unchanged.
 *
 * @param directory  what to name when the error carries no path of its own
 */
export function wordFileError(error: unknown, directory: string): unknown {
  if (error instanceof EmbeddedPostgresError || !(error instanceof Error)) return error;
  const path =
    'path' in error && typeof error.path === 'string' && error.path !== '' ? error.path : directory;
  switch (codeOf(error) ?? '') {
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFull(directory, error);
    case 'EROFS':
      return new EmbeddedPostgresError(
        `${path} is on a read-only file system: set DATA_DIR to a directory that can be written.`,
        { cause: error },
      );
    case 'EACCES':
    case 'EPERM':
      return new EmbeddedPostgresError(
        `The user running the service may not use ${path}: change its owner, or set DATA_DIR to a directory of your own.`,
        { cause: error },
      );
    case 'ENOTDIR':
    case 'EEXIST':
      return new EmbeddedPostgresError(
        `${path} is in the way or not a directory: set DATA_DIR to a directory, or to a path that does not exist yet.`,
        { cause: error },
      );
    default:
      return error;
  }
}
