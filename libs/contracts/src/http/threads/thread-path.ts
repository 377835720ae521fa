import { z } from 'zod';
import { ThreadId } from '../../common/ids.js';

/** The parameters of a path below a thread. */
export const ThreadPath = z.object({ thread_id: ThreadId });
