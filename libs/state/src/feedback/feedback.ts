import { ConflictError } from '@caribou/contracts';
import { z } from 'zod';
import { type Feedback, type FeedbackStore, MAX_FEEDBACK } from '../ports/feedback-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { callThread } from '../redis/thread-call.js';
import { noRun } from '../runs/run-records.js';
import { assertAllowed } from '../threads/thread-records.js';

const scripts = { put: loadScript('feedback/put-feedback'), remove: loadScript('feedback/remove-feedback') };

const Content = z.object({
  run_id: z.string(),
  message_id: z.string().nullable(),
  rating: z.union([z.literal(1), z.literal(-1)]),
  comment: z.string().nullable(),
});

/** Feedback in Redis: a hash for each thread that has some. */
export function redisFeedback(redis: RedisConnection): FeedbackStore {
  return {
    put: async (thread, { feedback_id: id, ...content }, { replacesOfRun }) => {
      const reply = await callThread(redis, thread, scripts.put, {
        params: { run: content.run_id, id, replaces: replacesOfRun, max: MAX_FEEDBACK },
        texts: [JSON.stringify(content)],
        moreKeys: [redis.keys.feedback(thread)],
      });
      assertAllowed(reply, thread.threadId);
      if (reply[0] === 'no_run') throw noRun(content.run_id);
      if (reply[0] === 'full')
        throw new ConflictError(`the thread holds ${MAX_FEEDBACK} times feedback, which is the limit: delete some`);
      return feedbackOf(String(reply[1]), String(reply[2]));
    },
    list: async (thread, runId) => {
      const fields = await redis.use((client) => client.hgetall(redis.keys.feedback(thread)));
      return Object.entries(fields)
        .flatMap(([field, text]) => (field.startsWith('f:') ? [feedbackOf(field.slice(2), text)] : []))
        .filter((feedback) => feedback.run_id === runId)
        .sort((one, other) => (one.created_at < other.created_at ? -1 : 1));
    },
    ofRuns: async (thread, runIds) => {
      const key = redis.keys.feedback(thread);
      const wanted = [...new Set(runIds)];
      if (wanted.length === 0) return new Map();
      const ids = await redis.use((client) => client.hmget(key, ...wanted.map((runId) => `r:${runId}`)));
      const known = ids.flatMap((id) => (id === null ? [] : [id]));
      if (known.length === 0) return new Map();
      const texts = await redis.use((client) => client.hmget(key, ...known.map((id) => `f:${id}`)));
      const found = known.flatMap((id, at) => (texts[at] ? [feedbackOf(id, texts[at] ?? '')] : []));
      return new Map(found.map((feedback) => [feedback.run_id, feedback]));
    },
    remove: async (thread, runId, feedbackId) => {
      const key = redis.keys.feedback(thread);
      const text = await redis.use((client) => client.hget(key, `f:${feedbackId}`));
      if (text === null || feedbackOf(feedbackId, text).run_id !== runId) return false;
      return (await redis.run(scripts.remove, [key], [runId, feedbackId])) === 1;
    },
  };
}

function feedbackOf(feedback_id: string, text: string): Feedback {
  const border = text.indexOf(' ');
  return { feedback_id, ...Content.parse(JSON.parse(text.slice(border + 1))), created_at: text.slice(0, border) };
}
