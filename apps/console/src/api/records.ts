import type {
  adminConfigRoutes,
  adminCronRoutes,
  adminRunRoutes,
  adminWebhookRoutes,
  auditRoutes,
  budgetRoutes,
  deadLetterRoutes,
  usageRoutes,
} from '@caribou/contracts';
import { endpoint } from './endpoint.js';

export const listDeadLetters = endpoint<typeof deadLetterRoutes.list>('GET', '/admin/dead-letters');
export const replayDeadLetter = endpoint<typeof deadLetterRoutes.replay>(
  'POST',
  '/admin/dead-letters/:letter_id/replay',
);
export const dropDeadLetter = endpoint<typeof deadLetterRoutes.drop>('DELETE', '/admin/dead-letters/:letter_id');
export const listAllRuns = endpoint<typeof adminRunRoutes.list>('GET', '/admin/runs');
export const cancelAnyRun = endpoint<typeof adminRunRoutes.cancel>('POST', '/admin/runs/cancel');
export const listAllCrons = endpoint<typeof adminCronRoutes.list>('GET', '/admin/crons');
export const pauseAnyCron = endpoint<typeof adminCronRoutes.pause>('POST', '/admin/crons/:user_id/:cron_id/pause');
export const deleteAnyCron = endpoint<typeof adminCronRoutes.remove>('DELETE', '/admin/crons/:user_id/:cron_id');
export const listAllWebhookEvents = endpoint<typeof adminWebhookRoutes.list>('GET', '/admin/webhooks/events');
export const retryAnyWebhookEvent = endpoint<typeof adminWebhookRoutes.retry>(
  'POST',
  '/admin/webhooks/events/:user_id/:event_id/retry',
);
export const listAudit = endpoint<typeof auditRoutes.list>('GET', '/admin/audit');
export const getConfig = endpoint<typeof adminConfigRoutes.get>('GET', '/admin/config');
export const getBudgets = endpoint<typeof budgetRoutes.get>('GET', '/admin/budgets');
export const getUsage = endpoint<typeof usageRoutes.get>('GET', '/usage');
