import { type Frame, jsonFrame, NO_FRAMES, type Projection } from './frame.js';

const stateFrame = (checkpointId: string): Frame => ({ event: 'values', checkpointId, before: '', after: '' });

/** Mode `values`: the whole state after each commit and after a takeover, and an empty interrupt at a breakpoint. */
export const values: Projection = (event, { state }) => {
  switch (event.kind) {
    case 'run.start':
      return event.checkpoint_id === null ? NO_FRAMES : [stateFrame(event.checkpoint_id)];
    case 'checkpoint':
      return [stateFrame(event.checkpoint_id)];
    case 'end':
      return event.status === 'success' && state.next.length > 0
        ? [jsonFrame('values', { __interrupt__: [] })]
        : NO_FRAMES;
    default:
      return NO_FRAMES;
  }
};
