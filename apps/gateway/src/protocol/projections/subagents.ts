import { TaskEvent } from '@caribou/contracts';
import { type ProjectedEvent, subagentNamespace } from '../projected-event.js';
import { lifecycle } from './lifecycle.js';
import { type MessageOrigin, wholeMessage } from './messages.js';
import { toolEvent } from './tools.js';

type SubagentOrigin = Pick<MessageOrigin, 'runId' | 'threadId'>;

/** What subagents do, in namespaces of their own: each answer and tool result when it is committed. */
export class Subagents {
  /** Kinds of subagents by the call that started them. */
  private readonly kinds = new Map<string, string>();

  constructor(private readonly origin: SubagentOrigin) {}

  noteCall(toolCallId: string, args: Readonly<Record<string, unknown>>): void {
    const kind = args['subagent_type'];
    if (typeof kind === 'string') this.kinds.set(toolCallId, kind);
  }

  /** The events for the data of a custom event; none when it is not about a subagent. */
  take(data: unknown): ProjectedEvent[] {
    const parsed = TaskEvent.safeParse(data);
    if (!parsed.success) return [];
    const event = parsed.data;
    const toolCallId = event.task_id;
    const namespace = subagentNamespace(toolCallId);
    const graphName = this.kinds.get(toolCallId);
    switch (event.type) {
      case 'task_started':
        return [lifecycle(namespace, 'started', { graphName, toolCallId })];
      case 'task_running':
        return this.takeStep(event, namespace);
      case 'task_completed':
        return [lifecycle(namespace, 'completed', { graphName })];
      case 'task_failed':
        return [lifecycle(namespace, 'failed', { graphName, error: event.error })];
      case 'task_timed_out':
        return [
          lifecycle(namespace, 'failed', { graphName, error: event.error ?? 'the subagent was not started in time' }),
        ];
      case 'task_cancelled':
        return [lifecycle(namespace, 'interrupted', { graphName, error: event.error })];
    }
  }

  private takeStep(
    { message, model_name: model = '' }: Extract<TaskEvent, { type: 'task_running' }>,
    namespace: readonly string[],
  ): ProjectedEvent[] {
    if (message.type === 'tool') {
      const { tool_call_id } = message;
      const data = { event: 'tool-finished', tool_call_id, output: message };
      return [toolEvent(namespace, data)];
    }
    const calls = message.tool_calls.map(({ id, name, args }) =>
      toolEvent(namespace, { event: 'tool-started', tool_call_id: id, tool_name: name, input: args }),
    );
    return [...wholeMessage(message, { ...this.origin, namespace, node: 'model_request', model }), ...calls];
  }
}
