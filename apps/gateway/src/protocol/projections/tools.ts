import { isRecord, type RunEvent } from '@caribou/contracts';
import { json, type ProjectedEvent, ROOT, subagentNamespace } from '../projected-event.js';

/** The tool that starts a subagent: its call has the namespace of the subagent. */
const TASK_TOOL = 'task';

/** Where the calls of a tool are shown. */
export const namespaceOfCall = (name: string, toolCallId: string): readonly string[] =>
  name === TASK_TOOL ? subagentNamespace(toolCallId) : ROOT;

export const toolEvent = (namespace: readonly string[], data: object): ProjectedEvent => ({
  channel: 'tools',
  method: 'tools',
  namespace,
  node: 'tools',
  payload: json(data),
});

/** Channel `tools`: beginning, output and end of each call. */
export function tools(event: RunEvent): ProjectedEvent[] {
  switch (event.kind) {
    case 'tool.start': {
      const { tool_call_id, name, args } = event;
      const data = { event: 'tool-started', tool_call_id, tool_name: name, input: args };
      return [toolEvent(namespaceOfCall(name, tool_call_id), data)];
    }
    case 'tool.end': {
      const { tool_call_id, name, message } = event;
      const data = { event: 'tool-finished', tool_call_id, output: message };
      return [toolEvent(namespaceOfCall(name, tool_call_id), data)];
    }
    case 'tool.error': {
      const { tool_call_id, name, error } = event;
      return [toolEvent(namespaceOfCall(name, tool_call_id), { event: 'tool-error', tool_call_id, message: error })];
    }
    case 'custom':
      return outputDelta(event.data);
    default:
      return [];
  }
}

/** What a command wrote while it runs. */
function outputDelta(data: unknown): ProjectedEvent[] {
  if (!isRecord(data) || data['type'] !== 'bash_output' || typeof data['tool_call_id'] !== 'string') return [];
  const delta = [data['stdout'], data['stderr']].filter((text) => typeof text === 'string').join('');
  if (delta === '') return [];
  return [toolEvent(ROOT, { event: 'tool-output-delta', tool_call_id: data['tool_call_id'], delta })];
}
