import { askedAtEnd, type Frame, jsonFrame, NO_FRAMES, type Projection } from './frame.js';

const stateFrame = (checkpointId: string): Frame => ({ event: 'values', checkpointId, before: '', after: '' });

/** Mode `values`: the whole state after each commit and after a takeover, and what waits for an answer at the end. */
export const values: Projection = (event, { state }) => {
  switch (event.kind) {
    case 'run.start':
      return event.checkpoint_id === null ? NO_FRAMES : [stateFrame(event.checkpoint_id)];
    case 'checkpoint':
      return [stateFrame(event.checkpoint_id)];
    case 'end': {
      const asked = askedAtEnd(event, state);
      return asked === undefined ? NO_FRAMES : [jsonFrame('values', { __interrupt__: asked })];
    }
    default:
      return NO_FRAMES;
  }
};
