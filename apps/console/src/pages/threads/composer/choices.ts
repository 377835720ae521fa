import type {
  agentRoutes,
  featureRoutes,
  inputPolishRoutes,
  ModelReply,
  modelRoutes,
  suggestionRoutes,
} from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { endpoint } from '../../../api/endpoint.js';

const listModels = endpoint<typeof modelRoutes.list>('GET', '/models');
const listAgents = endpoint<typeof agentRoutes.list>('GET', '/agents');
const getFeatures = endpoint<typeof featureRoutes.features>('GET', '/features');
const getSuggestionsConfig = endpoint<typeof suggestionRoutes.config>('GET', '/suggestions/config');

export const polishInput = endpoint<typeof inputPolishRoutes.polish>('POST', '/input-polish');
export const suggestQuestions = endpoint<typeof suggestionRoutes.suggest>('POST', '/threads/:thread_id/suggestions');

const STALE_MS = 60_000;
/** The same list while none was read, so that what is made of it stays the same too. */
const NO_MODELS: ModelReply[] = [];

/** What the server offers to runs and to people who write messages. */
export function useChoices() {
  const models = useQuery({
    queryKey: ['models'],
    queryFn: ({ signal }) => listModels({ signal }),
    staleTime: STALE_MS,
  });
  const features = useQuery({
    queryKey: ['features'],
    queryFn: ({ signal }) => getFeatures({ signal }),
    staleTime: STALE_MS,
  });
  const agents = useQuery({
    queryKey: ['agents'],
    queryFn: ({ signal }) => listAgents({ signal }),
    staleTime: STALE_MS,
    enabled: features.data?.agents_api.enabled === true,
  });
  const suggestions = useQuery({
    queryKey: ['suggestions-config'],
    queryFn: ({ signal }) => getSuggestionsConfig({ signal }),
    staleTime: STALE_MS,
  });
  return {
    models: models.data?.models ?? NO_MODELS,
    agents: (agents.data?.agents ?? []).map(({ name }) => name),
    canPolish: features.data?.input_polish.enabled === true,
    canSuggest: suggestions.data?.enabled === true,
    showsTokens: models.data?.token_usage.enabled === true,
  };
}

export type Choices = ReturnType<typeof useChoices>;
