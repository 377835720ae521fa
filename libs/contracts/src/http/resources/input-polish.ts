import { z } from 'zod';
import { ThreadId } from '../../common/ids.js';
import { route, Unsupported } from '../route.js';

const polish = route({
  name: 'polishInput',
  group: 'Suggestions',
  method: 'POST',
  path: '/input-polish',
  summary: 'A clearer version of a draft, which is not sent anywhere.',
  body: z
    .object({
      text: z.string().refine((text) => text.trim() !== '', 'must not be empty'),
      locale: z
        .string()
        .regex(/^[A-Za-z0-9_-]{1,35}$/, 'must be a language tag such as en-US')
        .nullish()
        .describe('Of the user, for a draft without a language of its own'),
      thread_id: ThreadId.nullish().describe('The thread that the draft is for, which usage shows'),
    })
    .catchall(Unsupported),
  reply: z.object({ rewritten_text: z.string(), changed: z.boolean() }),
  refusals: [403, 404, 413, 429, 502],
});

export const inputPolishRoutes = { polish };
