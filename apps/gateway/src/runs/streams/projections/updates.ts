import { jsonFrame, NO_FRAMES, type Projection } from './frame.js';

/** Mode `updates`: what each node changed, one node per frame, and an empty interrupt at a breakpoint. */
export const updates: Projection = (event, { state }) => {
  switch (event.kind) {
    case 'task.end':
      return event.error === null ? [jsonFrame('updates', { [event.node]: event.update })] : NO_FRAMES;
    case 'end':
      return event.status === 'success' && state.next.length > 0
        ? [jsonFrame('updates', { __interrupt__: [] })]
        : NO_FRAMES;
    default:
      return NO_FRAMES;
  }
};
