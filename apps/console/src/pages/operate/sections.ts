import type { ComponentType } from 'react';
import { keyTexts, userTexts } from '../../text/access.js';
import { fleet } from '../../text/fleet.js';

/** A page of operators, loaded when it is opened. */
export interface OperateSection {
  /** The address below `/operate`, one segment; the page may have routes of its own below it. */
  readonly path: string;
  readonly label: string;
  readonly load: () => Promise<{ readonly Component: ComponentType }>;
}

/** The pages of operators in the order of their navigation. A new page is one entry. */
export const operateSections: readonly OperateSection[] = [
  { path: 'keys', label: keyTexts.title, load: () => import('./access/keys.js') },
  { path: 'users', label: userTexts.title, load: () => import('./access/users.js') },
  { path: 'fleet', label: fleet.fleetTitle, load: () => import('./fleet/fleet-page.js') },
  { path: 'queues', label: fleet.queuesTitle, load: () => import('./fleet/queues-page.js') },
  { path: 'models', label: fleet.modelsTitle, load: () => import('./fleet/models-page.js') },
  { path: 'sandboxes', label: fleet.sandboxesTitle, load: () => import('./fleet/sandboxes-page.js') },
];
