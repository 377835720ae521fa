import type { Json } from './sdk-client.js';

/** The hook's options as DeerFlow's page gives them; titles in `updates` are recorded. */
export const deerFlowOptions = (titles: unknown[]): Json => ({
  reconnectOnMount: true,
  fetchStateHistory: { limit: 1 },
  onUpdateEvent: (data: Record<string, { title?: string } | null>) => {
    for (const update of Object.values(data)) if (update?.title !== undefined) titles.push(update.title);
  },
  onCustomEvent: () => undefined,
  onLangChainEvent: () => undefined,
});

/** A message as DeerFlow's page sends it. */
export const deerFlowSubmit = (
  text: string,
  { threadId, files }: { readonly threadId: string; readonly files: readonly object[] },
) => ({
  values: { messages: [{ type: 'human', content: [{ type: 'text', text }], additional_kwargs: { files } }] },
  options: {
    threadId,
    streamSubgraphs: true,
    streamResumable: true,
    streamMode: ['values', 'messages-tuple', 'custom'],
    config: { recursion_limit: 1000 },
    context: {
      thread_id: threadId,
      model_name: 'caribou-demo',
      mode: 'pro',
      thinking_enabled: true,
      is_plan_mode: true,
      subagent_enabled: false,
      reasoning_effort: 'medium',
    },
  },
});
