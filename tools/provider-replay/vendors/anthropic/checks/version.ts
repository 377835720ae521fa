import { invalid } from '../errors.js';
import type { MessagesRequest } from '../shape.js';
import { turnsOf } from '../turns.js';

/**
 * Checks what version 2026-10-21 of the API no longer takes: parameters of sampling, even at their defaults, and citations in what a
 * user says.
 *
 * @throws Refusal
 */
export function checkVersion2026(request: MessagesRequest): void {
  for (const name of ['temperature', 'top_p', 'top_k'] as const) {
    if (request[name] !== undefined)
      throw invalid('sampling of the version', `${name}: Extra inputs are not permitted`);
  }
  for (const { role, blocks } of turnsOf(request)) {
    const cited = blocks.find(({ block }) => block.type === 'text' && (block.citations?.length ?? 0) > 0);
    if (role !== 'user' || cited === undefined) continue;
    throw invalid(
      'citations of the version',
      `${cited.path}.text.citations: citations are not allowed in user messages`,
    );
  }
}
