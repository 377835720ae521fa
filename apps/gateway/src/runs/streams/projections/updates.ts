import { askedAtEnd, jsonFrame, NO_FRAMES, type Projection } from './frame.js';

/** Mode `updates`: what each node changed, one node per frame, and what waits for an answer at the end. */
export const updates: Projection = (event, { state }) => {
  switch (event.kind) {
    case 'task.end':
      return event.error === null && event.interrupts === undefined
        ? [jsonFrame('updates', { [event.node]: event.update })]
        : NO_FRAMES;
    case 'end': {
      const asked = askedAtEnd(event, state);
      return asked === undefined ? NO_FRAMES : [jsonFrame('updates', { __interrupt__: asked })];
    }
    default:
      return NO_FRAMES;
  }
};
