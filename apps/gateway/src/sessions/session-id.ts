import { createHash } from 'node:crypto';

/**
 * The id by which a session is listed and ended. It is a hash of the hash that is stored, so it neither opens the session nor
 * shows what the store has, and it is the same at every gateway.
 */
export const sessionIdOf = (digest: string): string =>
  createHash('sha256').update(`session:${digest}`).digest('base64url');
