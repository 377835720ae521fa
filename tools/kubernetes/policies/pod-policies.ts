import { type KubernetesObject, titleOf, type Workload, workloadsOf } from '../render/objects.js';

/** Lists what is wrong with objects, a sentence each; empty when nothing is. */
export type Policy = (objects: readonly KubernetesObject[]) => string[];

/** A policy about each workload. */
const ofWorkloads =
  (faultsOf: (workload: Workload) => readonly (string | false)[]): Policy =>
  (objects) =>
    workloadsOf(objects).flatMap((workload) =>
      faultsOf(workload)
        .filter((fault) => fault !== false)
        .map((fault) => `${workload.title}: ${fault}`),
    );

/** Objects at any depth of a value. */
function* objectsIn(value: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) yield* objectsIn(item);
  } else if (typeof value === 'object' && value !== null) {
    yield value as Readonly<Record<string, unknown>>;
    for (const item of Object.values(value)) yield* objectsIn(item);
  }
}

const containersAreLimited = ofWorkloads(({ containers }) =>
  containers.flatMap(({ name, resources }) =>
    ['cpu', 'memory'].map((kind) => resources.limits[kind] === undefined && `${name} has no limit of ${kind}`),
  ),
);

const emptyDirsAreLimited = ofWorkloads(({ pod }) =>
  pod.volumes.map(
    ({ name, emptyDir }) =>
      emptyDir !== undefined && emptyDir.sizeLimit === undefined && `the volume ${name} has no sizeLimit`,
  ),
);

/** Nothing of the machine, whatever the kind of object. */
const nothingOfTheMachine: Policy = (objects) =>
  objects.flatMap((object) => {
    const faults = [...objectsIn(object)].flatMap((part) => [
      ...['hostPath', 'hostPort'].filter((name) => part[name] !== undefined),
      ...['hostNetwork', 'hostPID', 'hostIPC', 'privileged'].filter((name) => part[name] === true),
    ]);
    const sockets = /(docker|containerd|crio|podman)\.sock/.exec(JSON.stringify(object));
    return [...faults, ...(sockets === null ? [] : [sockets[0]])].map((fault) => `${titleOf(object)}: has ${fault}`);
  });

const podsAreRestricted = ofWorkloads(({ pod, containers }) => {
  const { runAsNonRoot, runAsUser, seccompProfile } = pod.securityContext;
  return [
    runAsNonRoot !== true && 'may run as root',
    (typeof runAsUser !== 'number' || runAsUser === 0) && 'has no user of its own',
    JSON.stringify(seccompProfile) !== '{"type":"RuntimeDefault"}' && 'has no seccomp profile',
    ...containers.flatMap(({ name, securityContext }) => [
      securityContext['allowPrivilegeEscalation'] !== false && `${name} may get more rights`,
      securityContext['readOnlyRootFilesystem'] !== true && `${name} may write to its image`,
      JSON.stringify(securityContext['capabilities']) !== '{"drop":["ALL"]}' && `${name} has capabilities`,
    ]),
  ];
});

const MANAGER = 'sandbox-manager';

const onlyManagersHaveTokens: Policy = (objects) => [
  ...ofWorkloads(({ component, pod }) => [
    pod.automountServiceAccountToken !== (component === MANAGER) && 'has a token of the API, or lacks its own',
    pod.enableServiceLinks !== false && 'gets addresses of all Services as variables',
  ])(objects),
  ...objects
    .filter((object) => object.kind === 'ServiceAccount' && object['automountServiceAccountToken'] !== false)
    .map((object) => `${titleOf(object)}: mounts its token by default`),
];

/**
 * The root of a volume belongs to root and may be open to everybody; a service closes its directories, so they are below the mounts
 * and made by it.
 */
const directoriesAreBelowMounts = ofWorkloads(({ containers }) =>
  containers.flatMap(({ env, volumeMounts }) =>
    env
      .filter(({ name }) => name === 'CARIBOU_HOME' || name === 'CARIBOU_RUN_DIR')
      .map(
        ({ name, value = '' }) =>
          !volumeMounts.some(({ mountPath }) => value.startsWith(`${mountPath}/`)) && `${name} is not below a mount`,
      ),
  ),
);

/** The kernel gives process 1 no signal without a handler, and nobody else ends what a program leaves behind. */
const noServiceIsProcessOne = ofWorkloads(({ pod, object }) => [
  object.kind === 'Deployment' && pod['shareProcessNamespace'] !== true && 'its service is process 1',
]);

/** Each service has all three probes on its port; a gateway's readiness is that of its process alone. */
const servicesAreProbed = ofWorkloads(({ component, containers, object }) => {
  if (object.kind !== 'Deployment') return [];
  const ready = component === 'gateway' ? '/ready?for=traffic' : '/ready';
  const expected = { startupProbe: '/health', livenessProbe: '/health', readinessProbe: ready } as const;
  return containers.flatMap((container) =>
    (['startupProbe', 'livenessProbe', 'readinessProbe'] as const).flatMap((kind) => {
      const { path, port } = container[kind]?.httpGet ?? {};
      return [
        path !== expected[kind] && `${container.name} has no ${kind} at ${expected[kind]}`,
        !container.ports.some(({ name }) => name === port) && `${kind} of ${container.name} has no port`,
      ];
    }),
  );
});

/** Policies about pods, by what they hold. */
export const podPolicies: Readonly<Record<string, Policy>> = {
  'every container has limits': containersAreLimited,
  'every temporary volume has a limit': emptyDirsAreLimited,
  'directories of a service are below its mounts': directoriesAreBelowMounts,
  'nothing of the machine is used': nothingOfTheMachine,
  'every pod is restricted': podsAreRestricted,
  'only sandbox-managers have a token of the API': onlyManagersHaveTokens,
  'every service has its probes': servicesAreProbed,
  'no service is process 1': noServiceIsProcessOne,
};
