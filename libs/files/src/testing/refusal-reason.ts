import { FileRefusedError } from '../file-refused.js';

/** Why the operation was refused, or `allowed`. */
export async function reasonOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
    return 'allowed';
  } catch (error) {
    if (error instanceof FileRefusedError) return error.reason;
    throw error;
  }
}
