import type {
  branchRoutes,
  feedbackRoutes,
  messageRoutes,
  replayRoutes,
  runRoutes,
  threadRoutes,
} from '@caribou/contracts';
import { endpoint } from './endpoint.js';

/** Threads with their messages and runs. */
export const searchThreads = endpoint<typeof threadRoutes.search>('POST', '/threads/search');
export const getThread = endpoint<typeof threadRoutes.get>('GET', '/threads/:thread_id');
export const deleteThread = endpoint<typeof threadRoutes.remove>('DELETE', '/threads/:thread_id');
export const updateState = endpoint<typeof threadRoutes.updateState>('POST', '/threads/:thread_id/state');
export const getMessages = endpoint<typeof messageRoutes.page>('GET', '/threads/:thread_id/messages/page');
export const listRuns = endpoint<typeof runRoutes.list>('GET', '/threads/:thread_id/runs');
export const createRun = endpoint<typeof runRoutes.create>('POST', '/threads/:thread_id/runs');
export const cancelRun = endpoint<typeof runRoutes.cancel>('POST', '/threads/:thread_id/runs/:run_id/cancel');
export const prepareRegenerate = endpoint<typeof replayRoutes.regenerate>(
  'POST',
  '/threads/:thread_id/runs/regenerate/prepare',
);
export const prepareEdit = endpoint<typeof replayRoutes.edit>(
  'POST',
  '/threads/:thread_id/runs/edit-regenerate/prepare',
);
export const branchThread = endpoint<typeof branchRoutes.create>('POST', '/threads/:thread_id/branches');
export const putFeedback = endpoint<typeof feedbackRoutes.put>('PUT', '/threads/:thread_id/runs/:run_id/feedback');
export const deleteFeedback = endpoint<typeof feedbackRoutes.removeOfRun>(
  'DELETE',
  '/threads/:thread_id/runs/:run_id/feedback',
);
