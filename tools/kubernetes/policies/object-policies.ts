import { z } from 'zod';
import {
  type KubernetesObject,
  mountedSecrets,
  ofKind,
  selects,
  titleOf,
  type Workload,
  workloadsOf,
} from '../render/objects.js';
import type { Policy } from './pod-policies.js';

const Selector = z.looseObject({ matchLabels: z.record(z.string(), z.string()).default({}) });
const Budget = z.looseObject({ selector: Selector });
const Target = z.looseObject({ scaleTargetRef: z.looseObject({ kind: z.string(), name: z.string() }) });
const Service = z.looseObject({
  selector: z.record(z.string(), z.string()),
  ports: z.array(z.looseObject({ targetPort: z.string() })),
});

/** The workloads of a namespace that a selector selects. */
const selected = (workloads: readonly Workload[], namespace: string, selector: Readonly<Record<string, string>>) =>
  workloads.filter((workload) => workload.namespace === namespace && selects(selector, workload.labels));

const namespaceOf = ({ metadata: { namespace = '' } }: KubernetesObject): string => namespace;

const deploymentsHaveOneBudget: Policy = (objects) => {
  const budgets = ofKind(objects, 'PodDisruptionBudget').map((budget) => ({
    budget,
    labels: Budget.parse(budget['spec']).selector.matchLabels,
  }));
  return workloadsOf(objects)
    .filter(({ object }) => object.kind === 'Deployment')
    .flatMap((workload) => {
      const own = budgets.filter(
        ({ budget, labels }) => namespaceOf(budget) === workload.namespace && selects(labels, workload.labels),
      );
      return own.length === 1 ? [] : [`${workload.title}: has ${own.length} budgets`];
    });
};

const selectorsSelectOne: Policy = (objects) => {
  const workloads = workloadsOf(objects);
  return workloads.flatMap(({ title, namespace, selector, labels }) => [
    ...(selects(selector, labels) ? [] : [`${title}: its selector does not select its own pods`]),
    ...(selected(workloads, namespace, selector).length > 1 ? [`${title}: selects pods of others`] : []),
  ]);
};

const servicesLeadToPods: Policy = (objects) =>
  ofKind(objects, 'Service').flatMap((object) => {
    const { selector, ports } = Service.parse(object['spec']);
    const [found, ...others] = selected(workloadsOf(objects), namespaceOf(object), selector);
    if (found === undefined || others.length > 0) return [`${titleOf(object)}: selects ${others.length} workloads`];
    const names = found.containers.flatMap((container) => container.ports.map(({ name }) => name));
    return ports.flatMap(({ targetPort }) =>
      names.includes(targetPort) ? [] : [`${titleOf(object)}: pods have no port ${targetPort}`],
    );
  });

/** What scales has a target, which has no fixed number of pods then. */
const scalersHaveTargets: Policy = (objects) =>
  ofKind(objects, 'HorizontalPodAutoscaler', 'ScaledObject').flatMap((object) => {
    const { kind, name } = Target.parse(object['spec']).scaleTargetRef;
    const target = objects.find((other) => other.kind === kind && other.metadata.name === name);
    if (target === undefined) return [`${titleOf(object)}: there is no ${kind} ${name}`];
    const { replicas } = z.looseObject({ replicas: z.number().optional() }).parse(target['spec']);
    return replicas === undefined ? [] : [`${titleOf(object)}: ${name} has a fixed number of pods`];
  });

const MonitorSpec = z.looseObject({
  selector: Selector.extend({
    matchExpressions: z.array(z.looseObject({ key: z.string(), values: z.array(z.string()) })).default([]),
  }),
});

const monitorsSelectPods: Policy = (objects) =>
  ofKind(objects, 'PodMonitor').flatMap((object) => {
    const { matchLabels, matchExpressions } = MonitorSpec.parse(object['spec']).selector;
    const components = workloadsOf(objects)
      .filter(({ labels }) => selects(matchLabels, labels))
      .map(({ component }) => component);
    return matchExpressions
      .flatMap(({ values }) => values)
      .flatMap((value) => (components.includes(value) ? [] : [`${titleOf(object)}: there is no pod of ${value}`]));
  });

/** Of what pods refer to, all is there; `external` names objects that are not of the chart, such as `Secret/name`. */
export const referencesExist =
  (external: ReadonlySet<string>): Policy =>
  (objects) => {
    const known = new Set([...objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`), ...external]);
    return workloadsOf(objects).flatMap(({ title, pod }) => {
      const wanted = [
        ...(pod.serviceAccountName === undefined ? [] : [`ServiceAccount/${pod.serviceAccountName}`]),
        ...mountedSecrets(pod).map((key) => `Secret/${key.split('/')[0] ?? ''}`),
        ...pod.volumes.flatMap(({ configMap, persistentVolumeClaim: claim }) => [
          ...(configMap === undefined ? [] : [`ConfigMap/${configMap.name}`]),
          ...(claim === undefined ? [] : [`PersistentVolumeClaim/${claim.claimName}`]),
        ]),
      ];
      return [...new Set(wanted)].filter((name) => !known.has(name)).map((name) => `${title}: there is no ${name}`);
    });
  };

const SecretData = z.looseObject({ stringData: z.record(z.string(), z.string()) });

/** A Secret of the chart has each key that a pod mounts of it. */
const secretsHaveTheirKeys: Policy = (objects) => {
  const keys = new Map(
    ofKind(objects, 'Secret').map((secret) => [secret.metadata.name, Object.keys(SecretData.parse(secret).stringData)]),
  );
  return workloadsOf(objects).flatMap(({ title, pod }) =>
    mountedSecrets(pod).flatMap((mounted) => {
      const [secret = '', key = ''] = mounted.split('/');
      const has = keys.get(secret);
      return has === undefined || key === '' || has.includes(key) ? [] : [`${title}: Secret ${secret} has no ${key}`];
    }),
  );
};

const volumesAreThere: Policy = (objects) =>
  workloadsOf(objects).flatMap(({ title, pod, containers, object }) => {
    const claims = z
      .looseObject({ volumeClaimTemplates: z.array(z.looseObject({ metadata: z.object({ name: z.string() }) })) })
      .safeParse(object['spec']);
    const names = [
      ...pod.volumes.map(({ name }) => name),
      ...(claims.data?.volumeClaimTemplates.map(({ metadata }) => metadata.name) ?? []),
    ];
    const mounted = containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name));
    return [
      ...mounted.filter((name) => !names.includes(name)).map((name) => `${title}: mounts no volume ${name}`),
      ...names.filter((name) => !mounted.includes(name)).map((name) => `${title}: does not use the volume ${name}`),
    ];
  });

/** Policies about how objects refer to each other, by what they hold. */
export const objectPolicies: Readonly<Record<string, Policy>> = {
  'every Deployment has one budget': deploymentsHaveOneBudget,
  'every selector selects the pods of one workload': selectorsSelectOne,
  'every Service leads to pods': servicesLeadToPods,
  'what is scaled has no fixed number of pods': scalersHaveTargets,
  'every monitor selects pods': monitorsSelectPods,
  'every Secret of the chart has its keys': secretsHaveTheirKeys,
  'every volume is there and mounted': volumesAreThere,
};
