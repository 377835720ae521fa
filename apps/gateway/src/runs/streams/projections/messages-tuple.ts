import { jsonFrame, NO_FRAMES, type Projection } from './frame.js';
import { messageChunk } from './message-chunk.js';
import { messageMetadataText, nodeMetadata } from './message-metadata.js';

/** Mode `messages-tuple` (event `messages`): deltas of AI messages, and whole tool messages. */
export const messagesTuple: Projection = (event, context) => {
  switch (event.kind) {
    case 'message.delta':
      return [
        { event: 'messages', data: `[${JSON.stringify(messageChunk(event))},${messageMetadataText(event, context)}]` },
      ];
    case 'message':
      return event.message.type === 'tool'
        ? [jsonFrame('messages', [event.message, { tags: [], ...nodeMetadata(event, context) }])]
        : NO_FRAMES;
    default:
      return NO_FRAMES;
  }
};
