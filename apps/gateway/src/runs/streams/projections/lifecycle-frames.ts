import { jsonFrame, NO_FRAMES, type Projection } from './frame.js';

/**
 * The first frame of every attempt. From the second attempt on, it lists the streamed messages that clients must drop.
 */
export const metadata: Projection = (event) => {
  if (event.kind !== 'run.start') return NO_FRAMES;
  const { run_id, thread_id, attempt, dropped_message_ids } = event;
  const again = attempt > 1 || dropped_message_ids.length > 0;
  return [jsonFrame('metadata', { run_id, thread_id, attempt, ...(again ? { dropped_message_ids } : {}) })];
};

/** The frame of a failure: JS clients read `error`, Python clients and DeerFlow's web client read `name`. */
export const error: Projection = (event) =>
  event.kind === 'error'
    ? [jsonFrame('error', { error: event.name, name: event.name, message: event.message })]
    : NO_FRAMES;

export const end: Projection = (event) => (event.kind === 'end' ? [jsonFrame('end', null)] : NO_FRAMES);

/** Mode `custom`: what middlewares and tools wrote for clients. */
export const custom: Projection = (event) => (event.kind === 'custom' ? [jsonFrame('custom', event.data)] : NO_FRAMES);
