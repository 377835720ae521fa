import { BugError } from '@caribou/contracts';
import { Registry } from 'prom-client';
import { createMetrics } from './metrics.js';

export interface MetricDescription {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Besides `service`, which every metric has. */
  readonly labels: readonly string[];
}

/** Every metric of the services, as the code registers it; what is made for operators is compared with this list. */
export function describeMetrics(): readonly MetricDescription[] {
  const registry = new Registry();
  createMetrics({ service: 'gateway', registry });
  return registry.getMetricsAsArray().map((metric) => ({ name: metric.name, ...traitsOf(metric) }));
}

/** A registered metric has its labels, which the types of the package do not say. */
function traitsOf(metric: { readonly name: string; readonly type: unknown }): Omit<MetricDescription, 'name'> {
  const labels: unknown = 'labelNames' in metric ? metric.labelNames : undefined;
  const type = (['counter', 'gauge', 'histogram'] as const).find((one) => one === metric.type);
  if (type === undefined || !Array.isArray(labels)) throw new BugError(`the metric ${metric.name} has no known type`);
  return { type, labels: labels.filter((label) => label !== 'le').map(String) };
}
