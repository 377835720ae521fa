import { z } from 'zod';
import { integer } from '../kinds/setting-kinds.js';

const MAX_UID = 4_294_967_293;
/** Users that sandboxes have already: the one of all commands, and that of the first process in Docker's. */
const TAKEN_UIDS = { first: 10_001, last: 10_002 };

export const UidsFile = z
  .object({
    first: integer(20_000, 1_000, MAX_UID).describe('The first uid; none of the range may be a user of a machine'),
    count: integer(0, 0, 1_000_000).describe(
      'How many uids, more than sandboxes of a machine; 0: one user for all (10001)',
    ),
  })
  .refine(({ first, count }) => first + count - 1 <= MAX_UID, `first + count: at most ${MAX_UID + 1}`)
  .refine(
    ({ first, count }) => first > TAKEN_UIDS.last || first + count <= TAKEN_UIDS.first,
    'the range must not have 10001 or 10002, which sandboxes use already',
  )
  .describe('A user of its own for each sandbox, where sandbox-managers run as root (docs/sandbox.md)');
