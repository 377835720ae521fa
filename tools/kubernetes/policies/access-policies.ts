import { z } from 'zod';
import { mountedSecrets, ofKind, selects, titleOf, type Workload, workloadsOf } from '../render/objects.js';
import type { Policy } from './pod-policies.js';

const MODEL_KEY = /(^|[^A-Z])(OPENAI|ANTHROPIC)_|_API_KEYS?\b/;
const MANAGER = 'sandbox-manager';

/** What a sandbox-manager can read: variables, keys of Secrets, its configuration. */
const managerHasNoModelKey: Policy = (objects) => {
  const configs = new Map(ofKind(objects, 'ConfigMap').map((map) => [map.metadata.name, JSON.stringify(map['data'])]));
  return workloadsOf(objects)
    .filter(({ component }) => component === MANAGER)
    .flatMap(({ title, pod, containers }) => {
      const seen = [
        ...containers.flatMap(({ env }) => env.map((entry) => JSON.stringify(entry))),
        ...mountedSecrets(pod),
        ...pod.volumes.map(({ configMap }) => configs.get(configMap?.name ?? '') ?? ''),
      ];
      return seen.filter((text) => MODEL_KEY.test(text)).map((text) => `${title}: sees ${text.slice(0, 100)}`);
    });
};

const Role = z.looseObject({
  rules: z.array(
    z.looseObject({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) }),
  ),
});
const Binding = z.looseObject({ subjects: z.array(z.looseObject({ name: z.string() })) });
/** All that the driver of sandboxes does with the API. */
const RIGHTS: ReadonlySet<string> = new Set([
  ...['create', 'get', 'list', 'watch', 'patch', 'delete'].map((verb) => `pods ${verb}`),
  'events list',
]);

const rightsAreTheLeast: Policy = (objects) => [
  ...ofKind(objects, 'ClusterRole', 'ClusterRoleBinding').map((object) => `${titleOf(object)}: is for all namespaces`),
  ...ofKind(objects, 'Role').flatMap((role) =>
    Role.parse(role)
      .rules.flatMap(({ resources, verbs }) =>
        resources.flatMap((resource) => verbs.map((verb) => `${resource} ${verb}`)),
      )
      .filter((right) => !RIGHTS.has(right))
      .map((right) => `${titleOf(role)}: gives ${right}`),
  ),
  ...ofKind(objects, 'RoleBinding').flatMap((binding) =>
    Binding.parse(binding)
      .subjects.filter(({ name }) => !name.endsWith(`-${MANAGER}`))
      .map(({ name }) => `${titleOf(binding)}: is for ${name}`),
  ),
];

const namespacesAreRestricted: Policy = (objects) =>
  ofKind(objects, 'Namespace')
    .filter(({ metadata }) => metadata.labels['pod-security.kubernetes.io/enforce'] !== 'restricted')
    .map((object) => `${titleOf(object)}: pods in it need not be restricted`);

const Peer = z.looseObject({
  podSelector: z.looseObject({ matchLabels: z.record(z.string(), z.string()).default({}) }).optional(),
  namespaceSelector: z.looseObject({ matchLabels: z.record(z.string(), z.string()).default({}) }).optional(),
});
const Rule = z.looseObject({
  from: z.array(Peer).optional(),
  to: z.array(Peer).optional(),
  ports: z.array(z.looseObject({ port: z.union([z.number(), z.string()]) })).default([]),
});
const PolicySpec = z.looseObject({
  podSelector: z.looseObject({ matchLabels: z.record(z.string(), z.string()).default({}) }),
  policyTypes: z.array(z.string()),
  ingress: z.array(Rule).nullish(),
  egress: z.array(Rule).nullish(),
});

const policiesOf = (objects: Parameters<Policy>[0]) =>
  ofKind(objects, 'NetworkPolicy').map((object) => ({
    title: titleOf(object),
    namespace: object.metadata.namespace ?? '',
    spec: PolicySpec.parse(object['spec']),
  }));

const isOurs = (labels: Readonly<Record<string, string>>): boolean =>
  labels['app.kubernetes.io/name'] === 'caribou' && labels['app.kubernetes.io/instance'] !== undefined;

/** A policy that selects nothing protects nothing; a rule for pods that do not exist lets nobody in. */
const networkPoliciesSelect: Policy = (objects) => {
  const workloads = workloadsOf(objects);
  const isKnown = (labels: Readonly<Record<string, string>>) =>
    !isOurs(labels) || workloads.some((workload: Workload) => selects(labels, workload.labels));
  return policiesOf(objects).flatMap(({ title, spec }) => {
    const peers = [...(spec.ingress ?? []), ...(spec.egress ?? [])].flatMap(({ from = [], to = [] }) => [
      ...from,
      ...to,
    ]);
    const selectors = [spec.podSelector, ...peers.flatMap(({ podSelector }) => podSelector ?? [])];
    return selectors
      .filter(({ matchLabels }) => !isKnown(matchLabels))
      .map(({ matchLabels }) => `${title}: selects nothing by ${JSON.stringify(matchLabels)}`);
  });
};

const everythingIsDenied: Policy = (objects) => {
  const workloads = workloadsOf(objects);
  const denying = policiesOf(objects).filter(
    ({ spec }) => spec.policyTypes.includes('Ingress') && spec.policyTypes.includes('Egress'),
  );
  const open = workloads.filter(
    (workload) =>
      !denying.some(
        ({ namespace, spec }) =>
          namespace === workload.namespace && selects(spec.podSelector.matchLabels, workload.labels),
      ),
  );
  const sandboxes = ofKind(objects, 'RoleBinding').map(({ metadata }) => metadata.namespace ?? '');
  const openNamespaces = sandboxes.filter(
    (name) =>
      !denying.some(
        ({ namespace, spec }) => namespace === name && Object.keys(spec.podSelector.matchLabels).length === 0,
      ),
  );
  return [
    ...open.map(({ title }) => `${title}: no policy denies by default`),
    ...openNamespaces.map((name) => `namespace ${name}: no policy denies by default`),
  ];
};

/** Sandboxes reach sandbox-managers at one port at most, and nobody else: no DNS, no metadata. */
const sandboxesReachManagersOnly: Policy = (objects) => {
  const sandboxes = new Set(ofKind(objects, 'RoleBinding').map(({ metadata }) => metadata.namespace ?? ''));
  return policiesOf(objects)
    .filter(({ namespace }) => sandboxes.has(namespace))
    .flatMap(({ title, spec }) =>
      (spec.egress ?? []).flatMap(({ to = [], ports }) => [
        ...(to.length === 1 && ports.length === 1 ? [] : [`${title}: sandboxes reach more than one peer at one port`]),
        ...to
          .filter(({ podSelector }) => podSelector?.matchLabels['app.kubernetes.io/component'] !== MANAGER)
          .map(() => `${title}: sandboxes reach others than sandbox-managers`),
        ...(ports.some(({ port }) => port === 53) ? [`${title}: sandboxes reach DNS`] : []),
      ]),
    );
};

/** Policies about rights and the network, by what they hold. */
export const accessPolicies: Readonly<Record<string, Policy>> = {
  'a sandbox-manager sees no key of a model': managerHasNoModelKey,
  'rights at the Kubernetes API are the least': rightsAreTheLeast,
  'namespaces of the chart are restricted': namespacesAreRestricted,
  'every NetworkPolicy selects something': networkPoliciesSelect,
  'everything is denied by default': everythingIsDenied,
  'sandboxes reach sandbox-managers only': sandboxesReachManagersOnly,
};
