import { type ModelListReply, type ModelReply, modelRoutes, NotFoundError, type RouteInput } from '@caribou/contracts';
import { Controller } from '@nestjs/common';
import { API_ROOTS, Input, Route } from '../http/route.decorators.js';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';

@Controller(API_ROOTS)
export class ModelsController {
  constructor(@Dependency('settings') private readonly settings: Pick<GatewaySettings, 'models' | 'showsTokens'>) {}

  @Route(modelRoutes.list)
  list(): ModelListReply {
    return { models: this.settings.models.map(modelJson), token_usage: { enabled: this.settings.showsTokens } };
  }

  @Route(modelRoutes.get)
  get(@Input() { params }: RouteInput<typeof modelRoutes.get>): ModelReply {
    const found = this.settings.models.find(({ name }) => name === params.model_name);
    if (found === undefined) throw new NotFoundError(`there is no model "${params.model_name}"`);
    return modelJson(found);
  }
}

type ShownModel = GatewaySettings['models'][number];

/** A model as clients see it. Fields are listed one by one, so that a setting added later is not shown by accident. */
const modelJson = (model: ShownModel): ModelReply => ({
  id: model.name,
  name: model.name,
  model: model.model,
  display_name: model.displayName,
  description: model.description === '' ? null : model.description,
  supports_thinking: model.supportsThinking,
  supports_reasoning_effort: model.supportsReasoningEffort,
  supports_vision: model.supportsVision,
  pricing: model.pricing === undefined ? null : pricingJson(model.pricing),
});

const pricingJson = (prices: NonNullable<ShownModel['pricing']>): ModelReply['pricing'] => ({
  currency: prices.currency,
  input: prices.input,
  cached_input: prices.cachedInput,
  cache_write: prices.cacheWrite,
  output: prices.output,
  reasoning: prices.reasoning,
});
