import type { ComponentType } from 'react';
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
  { path: 'runs', label: work.runs, load: () => import('./records/runs-page.js') },
  { path: 'dead-letters', label: work.letters, load: () => import('./records/dead-letters-page.js') },
  { path: 'schedules', label: work.schedules, load: () => import('./records/schedules-page.js') },
  { path: 'webhooks', label: work.webhooks, load: () => import('./records/webhooks-page.js') },
  { path: 'usage', label: facts.usage, load: () => import('./records/usage/usage-page.js') },
  { path: 'audit', label: facts.audit, load: () => import('./records/audit-page.js') },
  { path: 'configuration', label: facts.config, load: () => import('./records/config-page.js') },
];
