import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inHelm } from '../render/helm.js';
import { type KubernetesObject, parseObjects, titleOf } from '../render/objects.js';
import { goldenObjects, inKustomize, VALUE_SETS } from '../render/value-sets.js';
import { CUSTOM_KINDS, openSchemas } from './schemas.js';

/** Where `npm test` installs the schemas of kubernetes-validate; see tools/launcher/machine/kubernetes-schemas.mjs. */
const definitions = inHelm('..', '..', '.caribou', 'servers', 'kubernetes-schemas', '_definitions.json');
const isInstalled = existsSync(definitions);
if (!isInstalled)
  console.warn('skipped: objects of the chart by the schemas of Kubernetes, which npm test installs from PyPI');
const withSchemas = isInstalled ? describe : describe.skip;

withSchemas('by the schemas of Kubernetes 1.34, without further fields', () => {
  const check = isInstalled ? openSchemas(readFileSync(definitions, 'utf8')) : () => [];
  const faultsOf = (objects: readonly KubernetesObject[]): string[] =>
    objects.flatMap((object) => check(object).map((fault) => `${titleOf(object)}: ${fault}`));

  test.each(VALUE_SETS)('every object of %s is right', (set) => {
    const objects = goldenObjects(set);
    expect(objects.length).toBeGreaterThan(30);
    expect(faultsOf(objects)).toEqual([]);
  });

  test('every object of the kustomize base is right', () => {
    const files = ['gateway', 'agent-runner', 'sandbox-manager', 'memory-worker', 'subagent-pool', 'sandbox', 'common'];
    const objects = files.flatMap((name) =>
      parseObjects(readFileSync(join(inKustomize('base'), `${name}.yaml`), 'utf8')),
    );
    expect(faultsOf(objects)).toEqual([]);
  });

  test.each<[string, string, string]>([
    ['a field that does not exist', '"terminationGracePeriodSeconds":45', '"terminationGraceSeconds":45'],
    ['a number as text', '"containerPort":2027', '"containerPort":"2027"'],
    ['a kind that does not exist', '"kind":"Deployment"', '"kind":"Deploiment"'],
    ['an old version', '"apiVersion":"policy/v1"', '"apiVersion":"policy/v1beta1"'],
    ['a trigger without its stream', '"stream":"TURNS",', ''],
    ['a monitor without a port', '"port":"http","path":"/metrics"', '"path":"/metrics"'],
  ])('%s is a fault', (_what, from, to) => {
    const text = JSON.stringify(goldenObjects('everything'));
    expect(text).toContain(from);
    expect(faultsOf(JSON.parse(text.replace(from, to)) as KubernetesObject[])).not.toEqual([]);
  });

  test('objects of operators are checked too', () => {
    const kinds = new Set(goldenObjects('everything').map(({ apiVersion, kind }) => `${apiVersion}/${kind}`));
    expect(CUSTOM_KINDS.filter((kind) => !kinds.has(kind))).toEqual([]);
  });
});
