import type { Json } from './fake-cluster.js';

/** Fields that a check reads; everything else of a pod is the schema's affair. */
interface Checked {
  readonly metadata?: { readonly name?: string; readonly labels?: Json; readonly annotations?: Json };
  readonly spec?: Json & {
    readonly containers?: readonly CheckedContainer[];
    readonly securityContext?: Json;
    readonly volumes?: readonly Json[];
  };
}
interface CheckedContainer extends Json {
  readonly name?: string;
  readonly securityContext?: Json;
  readonly resources?: { readonly limits?: Json; readonly requests?: Json };
}

const NAME = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/;
const LABEL_VALUE = /^(?:[A-Za-z\d](?:[\w.-]{0,61}[A-Za-z\d])?)?$/;
const ALLOWED_VOLUMES = new Set(['configMap', 'downwardAPI', 'emptyDir', 'ephemeral', 'projected', 'secret']);
const RESOURCES = ['cpu', 'memory', 'ephemeral-storage'] as const;

const typeOf = (profile: unknown): unknown => (profile as { type?: unknown } | undefined)?.type;

type Rule<T> = readonly [name: string, isBroken: (checked: T) => boolean];

const broken = <T>(rules: readonly Rule<T>[], checked: T, prefix = ''): readonly string[] =>
  rules.filter(([, isBroken]) => isBroken(checked)).map(([name]) => `${prefix}${name}`);

/** A container's security context over that of its pod. */
interface Effective {
  readonly own: Json;
  readonly effective: Json;
  readonly drop: readonly unknown[];
  readonly add: readonly unknown[];
}

const CONTAINER_RULES: readonly Rule<Effective>[] = [
  ['allowPrivilegeEscalation != false', ({ own }) => own['allowPrivilegeEscalation'] !== false],
  ['privileged', ({ own }) => own['privileged'] === true],
  ['unrestricted capabilities', ({ drop }) => !drop.includes('ALL')],
  ['added capabilities', ({ add }) => add.some((capability) => capability !== 'NET_BIND_SERVICE')],
  ['runAsNonRoot != true', ({ effective }) => effective['runAsNonRoot'] !== true],
  ['runAsUser=0', ({ effective }) => effective['runAsUser'] === 0],
  [
    'seccompProfile',
    ({ effective }) => !['RuntimeDefault', 'Localhost'].includes(String(typeOf(effective['seccompProfile']))),
  ],
];

function effectiveOf(pod: Json, { securityContext: own = {} }: CheckedContainer): Effective {
  const { drop = [], add = [] } = (own['capabilities'] ?? {}) as { drop?: unknown[]; add?: unknown[] };
  return { own, effective: { ...pod, ...own }, drop, add };
}

/** What the pod security standard "restricted" has against a pod. */
export function restrictedViolations({ spec = {} }: Checked): readonly string[] {
  const host = ['hostNetwork', 'hostPID', 'hostIPC'].filter((field) => spec[field] === true);
  const volumes = (spec.volumes ?? [])
    .flatMap((volume) => Object.keys(volume))
    .filter((kind) => kind !== 'name' && !ALLOWED_VOLUMES.has(kind))
    .map((kind) => `volume type ${kind}`);
  const containers = (spec.containers ?? []).flatMap((container) =>
    broken(CONTAINER_RULES, effectiveOf(spec.securityContext ?? {}, container), `${container.name}: `),
  );
  return [...host, ...volumes, ...containers];
}

const POD_RULES: readonly Rule<Json>[] = [
  ['automountServiceAccountToken != false', (spec) => spec['automountServiceAccountToken'] !== false],
  ['enableServiceLinks != false', (spec) => spec['enableServiceLinks'] !== false],
  ['restartPolicy != Never', (spec) => spec['restartPolicy'] !== 'Never'],
];

/** What the rules of this project have against a sandbox pod. */
export function sandboxViolations({ metadata = {}, spec = {} }: Checked): readonly string[] {
  const name = NAME.test(metadata.name ?? '') ? [] : [`metadata.name ${JSON.stringify(metadata.name)}`];
  const labels = Object.entries(metadata.labels ?? {})
    .filter(([, value]) => typeof value !== 'string' || !LABEL_VALUE.test(value))
    .map(([key]) => `label ${key}`);
  const volumes = (spec.volumes ?? [])
    .filter((volume) => (volume['emptyDir'] as { sizeLimit?: string } | undefined)?.sizeLimit === undefined)
    .map((volume) => `volume ${String(volume['name'])} without a size`);
  return [...name, ...labels, ...broken(POD_RULES, spec), ...volumes, ...(spec.containers ?? []).flatMap(boundsOf)];
}

/** What is missing of a container's bounds. */
function boundsOf({ name, resources, securityContext }: CheckedContainer): readonly string[] {
  const isOpen = securityContext?.['readOnlyRootFilesystem'] !== true;
  const unbounded = RESOURCES.filter((resource) => {
    const limit = resources?.limits?.[resource];
    return limit === undefined || limit !== resources?.requests?.[resource];
  }).map((resource) => `${name}: limits.${resource} != requests.${resource}`);
  return [...(isOpen ? [`${name}: readOnlyRootFilesystem != true`] : []), ...unbounded];
}
