import type { ThreadKey } from '@caribou/core';
import type { RedisConnection } from './connection.js';

/** The parameter `interrupted` of scripts that include interrupts.lua; none for tasks, whose parents ask for them. */
export const interruptedParams = ({ keys }: RedisConnection, { userId }: Pick<ThreadKey, 'userId'>) => ({
  interrupted:
    keys.erasing === undefined
      ? undefined
      : { threads: keys.interrupted(userId), due: keys.interruptsDue, waiting: keys.interruptsWaiting },
});
