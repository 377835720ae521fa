import { type AssistantReply, LEAD_AGENT, NotFoundError } from '@caribou/contracts';
import { stableId } from '../projections/stable-id.js';

/** When the graph an assistant stands for was published; it has no record of its own that could tell. */
const PUBLISHED_AT = '2026-01-01T00:00:00.000Z';

const leadAgent: AssistantReply = {
  assistant_id: stableId(LEAD_AGENT),
  graph_id: LEAD_AGENT,
  name: LEAD_AGENT,
  description: null,
  version: 1,
  config: {},
  context: {},
  metadata: { created_by: 'system' },
  created_at: PUBLISHED_AT,
  updated_at: PUBLISHED_AT,
};

export const assistants: readonly AssistantReply[] = [leadAgent];

/** The assistant of this id or graph name. @throws {NotFoundError} */
export function assistantOf(idOrName: string): AssistantReply {
  const found = assistants.find(({ assistant_id, graph_id }) => assistant_id === idOrName || graph_id === idOrName);
  if (found === undefined) throw new NotFoundError(`there is no assistant "${idOrName.slice(0, 100)}"`);
  return found;
}
