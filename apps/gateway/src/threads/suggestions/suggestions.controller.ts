import {
  type RouteInput,
  suggestionRoutes,
  type SuggestionsConfigReply,
  type SuggestionsReply,
} from '@caribou/contracts';
import { Controller } from '@nestjs/common';
import { keyLabel, type Principal } from '../../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../../http/route.decorators.js';
import { Dependency } from '../../dependency.js';
import type { GatewaySettings } from '../../settings.js';
import { SuggestionsService } from './suggestions.service.js';

@Controller(API_ROOTS)
export class SuggestionsController {
  constructor(
    private readonly suggestions: SuggestionsService,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'suggestions'>,
  ) {}

  @Route(suggestionRoutes.config)
  config(): SuggestionsConfigReply {
    const { enabled, maxSuggestions } = this.settings.suggestions;
    return { enabled, max_suggestions: maxSuggestions };
  }

  @Route(suggestionRoutes.suggest)
  async suggest(
    @Caller() caller: Principal,
    @Input() { params, body }: RouteInput<typeof suggestionRoutes.suggest>,
  ): Promise<SuggestionsReply> {
    const key = { userId: caller.userId, threadId: params.thread_id };
    return { suggestions: [...(await this.suggestions.suggest(key, body, keyLabel(caller)))] };
  }
}
