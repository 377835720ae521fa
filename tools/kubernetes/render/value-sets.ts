import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { inHelm } from './helm.js';
import { type KubernetesObject, parseObjects } from './objects.js';

/** Sets of values whose renders are in the repository, by the names of their files. */
export const VALUE_SETS = ['trial', 'production', 'air-gapped', 'everything'] as const;
export type ValueSet = (typeof VALUE_SETS)[number];

export const valuesFile = (set: ValueSet): string => inHelm('examples', `${set}.yaml`);
export const goldenFile = (set: ValueSet): string => inHelm('golden', `${set}.yaml`);
export const inKustomize = (...path: readonly string[]): string => join(inHelm(), '..', 'kustomize', ...path);

const parsed = new Map<ValueSet, readonly KubernetesObject[]>();

/** The objects of a committed render, parsed once. */
export function goldenObjects(set: ValueSet): readonly KubernetesObject[] {
  const known = parsed.get(set) ?? parseObjects(readFileSync(goldenFile(set), 'utf8'));
  parsed.set(set, known);
  return known;
}

/** The keys of values that name an object which the chart does not make, with the kind of that object. */
const EXTERNAL: Readonly<Record<string, string>> = { existingSecret: 'Secret', existingClaim: 'PersistentVolumeClaim' };

/** What a set of values refers to besides objects of the chart, such as `Secret/caribou-gateway`. */
export function externalObjects(set: ValueSet): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, item] of Object.entries(value)) {
      const kind = EXTERNAL[name];
      if (kind !== undefined) found.add(`${kind}/${z.string().parse(item)}`);
      else if (name === 'configMap') found.add(`ConfigMap/${z.looseObject({ name: z.string() }).parse(item).name}`);
      else visit(item);
    }
  };
  visit(parse(readFileSync(valuesFile(set), 'utf8')));
  return found;
}
