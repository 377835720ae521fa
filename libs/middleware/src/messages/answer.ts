import { type AiMessage, type Content, textOf, type ThreadState } from '@caribou/contracts';
import { isUserMessage, stripReasoning } from '@caribou/core';

/**
 * The answer that the `afterModel` hooks follow, even if one of them added a message after it; undefined when a
 * previous hook removed it.
 */
export function lastAnswer({ messages }: ThreadState): AiMessage | undefined {
  const last = messages.findLast((message) => message.type !== 'human' || isUserMessage(message));
  return last?.type === 'ai' ? last : undefined;
}

/** The provider's finish reason in lower case, as spellings differ. */
export function finishReasonOf({ response_metadata: metadata }: AiMessage): string | undefined {
  const reason = metadata['finish_reason'] ?? metadata['stop_reason'];
  return typeof reason === 'string' ? reason.toLowerCase() : undefined;
}

const THOUGHT_BLOCKS: ReadonlySet<string> = new Set(['thinking', 'redacted_thinking', 'reasoning', 'text']);

/** Whether the user sees any of it: text outside reasoning, or another block such as an image. */
export function isVisible(content: Content): boolean {
  if (stripReasoning(textOf(visibleText(content))).trim() !== '') return true;
  return (
    typeof content !== 'string' && content.some((block) => typeof block !== 'string' && !THOUGHT_BLOCKS.has(block.type))
  );
}

/** The content without reasoning blocks, which may have text too. */
const visibleText = (content: Content): Content =>
  typeof content === 'string' ? content : content.filter((block) => typeof block === 'string' || block.type === 'text');

/** Appends a note to the content as a separate paragraph. */
export function withNote(content: Content, note: string): Content {
  if (typeof content !== 'string')
    return [...content, { type: 'text', text: isVisible(content) ? `\n\n${note}` : note }];
  return content.trim() === '' ? note : `${content}\n\n${note}`;
}

/** Names of the tools an answer calls, whether the arguments can be read or not. */
export const callNamesOf = ({ tool_calls: valid, invalid_tool_calls: invalid }: AiMessage): readonly string[] =>
  [...valid, ...invalid].map(({ name }) => name);

/** Fields that describe an early end in DeerFlow's format; `suppressed` are the tools that were not called. */
export const terminationOf = (reason: string, suppressed: readonly string[]) => ({
  reason_field: 'finish_reason',
  reason_value: reason,
  suppressed_tool_call_count: suppressed.length,
  suppressed_tool_call_names: [...new Set(suppressed)],
});
