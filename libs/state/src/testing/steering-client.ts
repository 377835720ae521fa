import type { HumanMessage } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { admission, human, type StoreFixture, textsOf, thread } from '@caribou/testing';
import type { AdmitRequest, AdmitResult } from '../ports/admission.js';

/** Bounds of a store whose waiting messages are soon too many. */
export const FEW_WAITING = { maxSteering: 3, maxSteeringBytes: 2_000 };

const inputOf = (...messages: HumanMessage[]): Pick<AdmitRequest, 'kwargs'> => ({
  kwargs: { ...admission(thread()).kwargs, input: { messages } },
});

/** Requests to steer threads, and what is stored of them; the store is opened before the tests. */
export const steeringOf = (store: () => StoreFixture) => ({
  steer: (key: ThreadKey, messages: HumanMessage[], over: Partial<AdmitRequest> = {}): Promise<AdmitResult> =>
    store().threads.admit({ ...admission(key), ...inputOf(...messages), multitaskStrategy: 'steer', ...over }),

  /** A thread with a claimed run whose input is committed. */
  runningThread: async () => {
    const key = thread();
    const input = human('hello');
    const run = await store().admit(key, inputOf(input));
    const claimed = await store().claim(key);
    const committed = { inputCommitted: true, next: ['model_request'] } as const;
    const { head } = await store().step(claimed, { messages: [input] }, committed);
    return { key, run, lease: claimed.lease, head };
  },

  waitingTexts: (key: ThreadKey): Promise<string[]> =>
    store().redis.use((client) => client.lrange(store().redis.keys.steering(key), 0, -1)),

  transcript: async (key: ThreadKey): Promise<unknown[]> =>
    textsOf((await store().threads.head(key))?.state.messages ?? []),
});
