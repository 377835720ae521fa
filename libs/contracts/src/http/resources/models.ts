import { z } from 'zod';
import { route } from '../route.js';

const group = 'Models';

const price = z.number().min(0);

/** Prices of a million tokens. Each token has one of them: that of its part. */
const PricingReply = z.object({
  currency: z.string().describe('ISO 4217'),
  input: price,
  cached_input: price.describe('Of input that the provider had in its cache'),
  cache_write: price.describe('Of input that the provider put into its cache'),
  output: price,
  reasoning: price.describe('Of output that is reasoning'),
});

/** A model that users can choose. Keys, URLs and headers are never shown. */
const ModelReply = z.object({
  id: z.string().describe('The same as name'),
  name: z.string().describe('What a run sends as context.model_name'),
  model: z.string().describe("The provider's name of the model"),
  display_name: z.string(),
  description: z.string().nullable(),
  supports_thinking: z.boolean(),
  supports_reasoning_effort: z.boolean(),
  supports_vision: z.boolean(),
  pricing: PricingReply.nullable().describe('Prices of a million tokens; null: none are configured'),
});
export type ModelReply = z.infer<typeof ModelReply>;

const ModelListReply = z.object({
  models: z.array(ModelReply).describe('The first one is the default'),
  token_usage: z.object({ enabled: z.boolean() }).describe('Whether clients should show token counts'),
});
export type ModelListReply = z.infer<typeof ModelListReply>;

const list = route({
  name: 'listModels',
  group,
  method: 'GET',
  path: '/models',
  summary: 'The models that runs can use.',
  reply: ModelListReply,
});

const get = route({
  name: 'getModel',
  group,
  method: 'GET',
  path: '/models/:model_name',
  summary: 'One model by its name.',
  params: z.object({ model_name: z.string().min(1).max(200) }),
  reply: ModelReply,
  refusals: [404],
});

export const modelRoutes = { list, get };
