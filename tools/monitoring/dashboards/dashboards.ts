import type { Dashboard } from './dashboard.js';
import { models } from './models.js';
import { overview } from './overview.js';
import { runs } from './runs.js';
import { sandboxes } from './sandboxes.js';
import { stores } from './stores.js';

/** All dashboards; each is a file in deploy/grafana. */
export const dashboards: readonly Dashboard[] = [overview, runs, models, sandboxes, stores];
