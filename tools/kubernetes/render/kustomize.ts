import { type KubernetesObject, parseObjects } from './objects.js';
import { stringify } from 'yaml';

const HEAD = '# Made by `npm run generate` from the chart and deploy/kustomize/values.yaml: change these, not this.\n';
const COMPONENT = 'app.kubernetes.io/component';

/** Labels that only helm gives a meaning. */
const OF_HELM: ReadonlySet<string> = new Set(['helm.sh/chart', 'app.kubernetes.io/managed-by']);

/**
 * Splits a render of the chart into the files of a kustomize base: one for each component, and `kustomization.yaml`, which lists
 * them. Labels that say that helm manages an object are left out.
 */
export function kustomizeBase(render: string): ReadonlyMap<string, string> {
  const groups = new Map<string, KubernetesObject[]>();
  for (const object of parseObjects(render)) {
    const file = `${object.metadata.labels[COMPONENT] ?? 'common'}.yaml`;
    groups.set(file, [...(groups.get(file) ?? []), withoutHelm(object)]);
  }
  const names = [...groups.keys()].sort();
  const files = names.map((name) => [name, HEAD + (groups.get(name) ?? []).map(toYaml).join('---\n')] as const);
  const list = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', resources: names };
  return new Map([...files, ['kustomization.yaml', HEAD + toYaml(list)]]);
}

const toYaml = (value: unknown): string => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });

/** A copy without the labels, which templates of pods have too. */
function withoutHelm<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item: unknown) => withoutHelm(item)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => !OF_HELM.has(name));
  return Object.fromEntries(entries.map(([name, item]) => [name, withoutHelm(item as unknown)])) as T;
}
