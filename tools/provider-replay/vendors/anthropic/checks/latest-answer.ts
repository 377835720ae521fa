import { invalid } from '../errors.js';
import type { IssuedAnswers } from '../issued-answers.js';
import type { ThinkingType } from '../models.js';
import type { RequestBlock } from '../shape.js';
import { modified } from '../thinking-blocks.js';
import { continuesTools, isThinking, type PlacedBlock, type Turn } from '../turns.js';

/**
 * Checks that the answer whose calls are answered now came back with all of its thinking blocks, in their places. Only a model that
 * thinks on this request needs them, and only those that it made itself.
 *
 * @throws Refusal in the vendor's words.
 */
export function checkLatestAnswer(
  turns: readonly Turn[],
  { thinking, model, answers }: { thinking: ThinkingType; model: string; answers: IssuedAnswers },
): void {
  const latest = turns.findLast(({ role }) => role === 'assistant');
  if (latest === undefined || (thinking !== 'enabled' && thinking !== 'adaptive')) return;
  if (thinking === 'enabled') checkBeginning(turns);
  const call = latest.blocks.find(({ block }) => block.type === 'tool_use')?.block;
  const issued = call?.type === 'tool_use' ? answers.withCall(call.id) : undefined;
  if (issued === undefined || issued.model !== model || !issued.blocks.some(isThinking)) return;
  const expected = marksOf(issued.blocks);
  const actual = marksOf(latest.blocks.map(({ block }) => block));
  if (expected.join() === actual.join()) return;
  throw modified(pathOfFirstDifference(issued.blocks, latest.blocks));
}

/** With manual thinking the assistant's turn under way begins with a thinking block. */
function checkBeginning(turns: readonly Turn[]): void {
  if (!continuesTools(turns.at(-1))) return;
  const asked = turns.findLastIndex((turn) => turn.role === 'user' && !continuesTools(turn));
  const first = turns[asked + 1]?.blocks[0];
  if (first === undefined || isThinking(first.block)) return;
  throw invalid(
    'thinking first',
    `${first.path}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.block.type}\`. ` +
      'When `thinking` is enabled, a final `assistant` message must start with a thinking block ' +
      '(preceeding the lastmost set of `tool_use` and `tool_result` blocks). To avoid this requirement, disable `thinking`.',
  );
}

/** The order of thinking and other blocks; texts in a row are one, as clients may join them. */
function marksOf(blocks: readonly RequestBlock[]): string[] {
  const marks = blocks.map(markOf);
  return marks.filter((mark, at) => mark !== 'text' || marks[at - 1] !== 'text');
}

function markOf(block: RequestBlock): string {
  if (block.type === 'thinking') return block.signature;
  if (block.type === 'redacted_thinking') return block.data;
  return block.type === 'tool_use' ? block.id : 'text';
}

function pathOfFirstDifference(expected: readonly RequestBlock[], actual: readonly PlacedBlock[]): string {
  const different = actual.find(({ block }, at) => {
    const wanted = expected[at];
    return wanted === undefined || markOf(wanted) !== markOf(block);
  });
  return (different ?? actual.at(-1))?.path ?? 'messages';
}
