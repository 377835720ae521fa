import { z } from 'zod';

/** Who may answer: the thread's owner or an administrator, or an administrator only. */
export const Decider = z.enum(['owner', 'admin']);
export type Decider = z.infer<typeof Decider>;
