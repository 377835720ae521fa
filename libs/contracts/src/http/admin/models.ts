import { z } from 'zod';
import { route } from '../route.js';

const group = 'Operate';
const count = () => z.number().int().min(0);

const ModelCircuit = z.object({
  state: z
    .enum(['closed', 'open', 'half_open'])
    .describe('open: calls are refused until `retry_at`; half_open: one call tries the model'),
  failures: count().describe('Failed calls in a row'),
  retry_at: z.iso.datetime().nullable().describe('When the next call may try the model; null while it is closed'),
});

const ModelState = z.object({
  name: z.string(),
  provider: z.string().describe('Host and path of its URL, or the module that answers'),
  model: z.string().describe("The provider's name of the model"),
  dialect: z.string(),
  circuit: ModelCircuit.describe('Models with the same provider and name there share one'),
  slots: z.object({
    used: count(),
    limit: count().nullable().describe('`llm_call.max_concurrent_calls`; null: no limit, and nothing is counted'),
    waiting: count(),
  }),
  fallbacks: z.array(z.string()),
});
export type ModelState = z.infer<typeof ModelState>;

const list = route({
  name: 'listModelStates',
  group,
  method: 'GET',
  path: '/admin/models',
  role: 'administrator',
  summary: 'The configured models with their circuit breakers and call slots.',
  reply: z.object({ models: z.array(ModelState) }),
});

const resetCircuit = route({
  name: 'resetModelCircuit',
  group,
  method: 'POST',
  path: '/admin/models/:model_name/circuit/reset',
  role: 'administrator',
  summary: 'Close the circuit of a model at once, without waiting for a probe. Audited.',
  params: z.object({ model_name: z.string().min(1).max(200) }),
  reply: ModelState,
  refusals: [404],
});

export const modelStateRoutes = { list, resetCircuit };
