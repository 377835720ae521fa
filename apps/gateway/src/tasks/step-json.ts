import { type AiMessage, type SubagentStep, textOf, type ToolMessage } from '@caribou/contracts';
import type { FeedRow } from '@caribou/state';

/** Maximum characters of a text and of a call's arguments in a step. */
const MAX_CHARS = 8_192;

interface StepsOf {
  readonly taskId: string;
  /** The run that delegated the task. */
  readonly runId: string;
  readonly threadId: string;
  /** Number of steps that precede these. */
  readonly before: number;
}

/** The steps of a task in DeerFlow's shape: answers of its model and results of its tools. */
export function stepsJson(rows: readonly FeedRow[], { taskId, runId, threadId, before }: StepsOf): SubagentStep[] {
  const steps = rows.flatMap(({ createdAt, message }) =>
    message.type === 'ai' || message.type === 'tool' ? [{ createdAt, message }] : [],
  );
  return steps.map(({ createdAt, message }, index) => ({
    event_type: 'subagent.step',
    seq: before + index + 1,
    run_id: runId,
    thread_id: threadId,
    created_at: createdAt,
    metadata: { task_id: taskId, message_index: index + 1 },
    content: { task_id: taskId, message_index: index + 1, ...contentOf(message) },
  }));
}

function contentOf(message: AiMessage | ToolMessage) {
  const text = textOf(message.content);
  const shown = { text: text.slice(0, MAX_CHARS), truncated: text.length > MAX_CHARS };
  if (message.type === 'tool')
    return { kind: 'tool' as const, ...shown, tool_name: message.name, tool_call_id: message.tool_call_id };
  return { kind: 'ai' as const, ...shown, tool_calls: message.tool_calls.map(callOf) };
}

function callOf({ name, args }: AiMessage['tool_calls'][number]) {
  const text = JSON.stringify(args);
  return text.length <= MAX_CHARS
    ? { name, args }
    : { name, args: text.slice(0, MAX_CHARS), args_truncated: true as const };
}
