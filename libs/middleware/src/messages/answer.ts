import { type AiMessage, type Content, textOf, type ThreadState } from '@caribou/contracts';
import { isUserMessage, stripReasoning } from '@caribou/core';

/**
 * The answer that the `afterModel` hooks stand behind, also when one of them put a message of its own behind it; undefined
 * when a hook before took it out.
 */
export function lastAnswer({ messages }: ThreadState): AiMessage | undefined {
  const last = messages.findLast((message) => message.type !== 'human' || isUserMessage(message));
  return last?.type === 'ai' ? last : undefined;
}

/** Why the provider ended the answer, in lower case: providers spell theirs differently. */
export function finishReasonOf({ response_metadata: metadata }: AiMessage): string | undefined {
  const reason = metadata['finish_reason'] ?? metadata['stop_reason'];
  return typeof reason === 'string' ? reason.toLowerCase() : undefined;
}

const THOUGHT_BLOCKS: ReadonlySet<string> = new Set(['thinking', 'redacted_thinking', 'reasoning', 'text']);

/** Whether a person sees anything of it: text outside thoughts, or another block such as an image. */
export function isVisible(content: Content): boolean {
  if (stripReasoning(textOf(visibleText(content))).trim() !== '') return true;
  return (
    typeof content !== 'string' && content.some((block) => typeof block !== 'string' && !THOUGHT_BLOCKS.has(block.type))
  );
}

/** Blocks of thoughts may carry a text of their own. */
const visibleText = (content: Content): Content =>
  typeof content === 'string' ? content : content.filter((block) => typeof block === 'string' || block.type === 'text');

/** The content with a note behind it, in a paragraph of its own. */
export function withNote(content: Content, note: string): Content {
  if (typeof content !== 'string')
    return [...content, { type: 'text', text: isVisible(content) ? `\n\n${note}` : note }];
  return content.trim() === '' ? note : `${content}\n\n${note}`;
}

/** Names of the tools an answer calls, whether the arguments can be read or not. */
export const callNamesOf = ({ tool_calls: valid, invalid_tool_calls: invalid }: AiMessage): readonly string[] =>
  [...valid, ...invalid].map(({ name }) => name);

/** What a message says of an early end, in DeerFlow's words; `suppressed` are the tools that were not called for it. */
export const terminationOf = (reason: string, suppressed: readonly string[]) => ({
  reason_field: 'finish_reason',
  reason_value: reason,
  suppressed_tool_call_count: suppressed.length,
  suppressed_tool_call_names: [...new Set(suppressed)],
});
