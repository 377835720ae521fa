import type { ComponentType } from 'react';
import { keyTexts, userTexts } from '../../text/access.js';
import { fleet } from '../../text/fleet.js';
import { facts } from '../../text/records/facts.js';
import { work } from '../../text/records/work.js';

/** A page of operators, loaded when it is opened. */
export interface OperateSection {
  /** The address below `/operate`, one segment; the page may have routes of its own below it. */
  readonly path: string;
  readonly label: string;
  readonly load: () => Promise<{ readonly Component: ComponentType }>;
}

/** The pages of operators in the order of their navigation. A new page is one entry. */
export const operateSections: readonly OperateSection[] = [
  { path: 'fleet', label: fleet.fleetTitle, load: () => import('./fleet/fleet-page.js') },
  { path: 'queues', label: fleet.queuesTitle, load: () => import('./fleet/queues-page.js') },
  { path: 'models', label: fleet.modelsTitle, load: () => import('./fleet/models-page.js') },
  { path: 'sandboxes', label: fleet.sandboxesTitle, load: () => import('./fleet/sandboxes-page.js') },
  { path: 'runs', label: work.runs, load: () => import('./records/runs-page.js') },
  { path: 'dead-letters', label: work.letters, load: () => import('./records/dead-letters-page.js') },
  { path: 'schedules', label: work.schedules, load: () => import('./records/schedules-page.js') },
  { path: 'webhooks', label: work.webhooks, load: () => import('./records/webhooks-page.js') },
  { path: 'usage', label: facts.usage, load: () => import('./records/usage/usage-page.js') },
  { path: 'audit', label: facts.audit, load: () => import('./records/audit-page.js') },
  { path: 'configuration', label: facts.config, load: () => import('./records/config-page.js') },
  { path: 'keys', label: keyTexts.title, load: () => import('./access/keys.js') },
  { path: 'users', label: userTexts.title, load: () => import('./access/users.js') },
];
