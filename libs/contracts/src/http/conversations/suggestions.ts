import { z } from 'zod';
import { route } from '../route.js';
import { ThreadPath } from '../threads/thread-path.js';

const group = 'Suggestions';

/** Maximum number of questions in one reply. */
export const MAX_SUGGESTIONS = 5;
const MAX_MESSAGES = 200;
const MAX_CONTENT_CHARS = 200_000;

const SuggestionsConfigReply = z.object({ enabled: z.boolean(), max_suggestions: z.number().int() });
export type SuggestionsConfigReply = z.infer<typeof SuggestionsConfigReply>;

export const SuggestionsRequest = z.object({
  messages: z
    .array(z.object({ role: z.enum(['user', 'assistant']), content: z.string().max(MAX_CONTENT_CHARS) }))
    .max(MAX_MESSAGES)
    .describe('The conversation, oldest first; only its end is used'),
  n: z.number().int().min(1).max(MAX_SUGGESTIONS).nullish().describe('How many; default: as configured'),
  model_name: z.string().max(200).nullish().describe('Model to use, unless one is configured for suggestions'),
});
export type SuggestionsRequest = z.output<typeof SuggestionsRequest>;

const SuggestionsReply = z.object({ suggestions: z.array(z.string()).max(MAX_SUGGESTIONS) });
export type SuggestionsReply = z.infer<typeof SuggestionsReply>;

const config = route({
  name: 'getSuggestionsConfig',
  group,
  method: 'GET',
  path: '/suggestions/config',
  summary: 'Whether follow-up questions are proposed, and how many at most.',
  reply: SuggestionsConfigReply,
});

const suggest = route({
  name: 'suggestQuestions',
  group,
  method: 'POST',
  path: '/threads/:thread_id/suggestions',
  summary: 'Follow-up questions for a conversation; none when the model fails, is busy or takes too long.',
  params: ThreadPath,
  body: SuggestionsRequest,
  reply: SuggestionsReply,
  refusals: [404],
});

export const suggestionRoutes = { config, suggest };
