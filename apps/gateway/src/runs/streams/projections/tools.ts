import { jsonFrame, NO_FRAMES, type Projection } from './frame.js';

/** Mode `tools`: the start and the end or error of each tool call. */
export const tools: Projection = (event) => {
  switch (event.kind) {
    case 'tool.start':
      return [
        jsonFrame('tools', {
          event: 'on_tool_start',
          toolCallId: event.tool_call_id,
          name: event.name,
          input: JSON.stringify(event.args),
        }),
      ];
    case 'tool.end':
      return [
        jsonFrame('tools', {
          event: 'on_tool_end',
          toolCallId: event.tool_call_id,
          name: event.name,
          output: event.message,
        }),
      ];
    case 'tool.error':
      return [
        jsonFrame('tools', {
          event: 'on_tool_error',
          toolCallId: event.tool_call_id,
          name: event.name,
          error: event.error,
        }),
      ];
    default:
      return NO_FRAMES;
  }
};
