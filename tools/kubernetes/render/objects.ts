import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

const Labels = z.record(z.string(), z.string());

const KubernetesObject = z.looseObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: z.looseObject({
    name: z.string().min(1),
    namespace: z.string().optional(),
    labels: Labels.default({}),
    annotations: Labels.default({}),
  }),
});
/** An object of the Kubernetes API. */
export type KubernetesObject = z.output<typeof KubernetesObject>;

/**
 * Parses the objects of a YAML text; empty documents are left out.
 *
 * @throws {Error} for text that is not YAML, and for a document that is no object of Kubernetes
 */
export function parseObjects(text: string): KubernetesObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    const value: unknown = document.toJS();
    return value === null ? [] : [KubernetesObject.parse(value)];
  });
}

/** Kind and name of an object, for messages. */
export const titleOf = ({ kind, metadata: { name } }: KubernetesObject): string => `${kind} ${name}`;

/** The objects of some kinds. */
export const ofKind = (objects: readonly KubernetesObject[], ...kinds: readonly string[]): KubernetesObject[] =>
  objects.filter(({ kind }) => kinds.includes(kind));

const Probe = z.looseObject({ httpGet: z.looseObject({ path: z.string(), port: z.string() }).optional() });

const Container = z.looseObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()).default([]),
  env: z
    .array(z.looseObject({ name: z.string(), value: z.string().optional(), valueFrom: z.looseObject({}).optional() }))
    .default([]),
  ports: z
    .array(z.looseObject({ name: z.string(), containerPort: z.number(), hostPort: z.number().optional() }))
    .default([]),
  resources: z.looseObject({ limits: z.record(z.string(), z.unknown()).default({}) }).prefault({}),
  securityContext: z.looseObject({}).default({}),
  startupProbe: Probe.optional(),
  livenessProbe: Probe.optional(),
  readinessProbe: Probe.optional(),
  lifecycle: z
    .looseObject({ preStop: z.looseObject({ sleep: z.looseObject({ seconds: z.number() }).optional() }) })
    .optional(),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
});

const SecretItems = z.looseObject({
  name: z.string(),
  items: z.array(z.looseObject({ key: z.string(), path: z.string() })).default([]),
});

const Volume = z.looseObject({
  name: z.string(),
  hostPath: z.unknown().optional(),
  emptyDir: z.looseObject({ sizeLimit: z.string().optional() }).optional(),
  configMap: z.looseObject({ name: z.string() }).optional(),
  secret: z.looseObject({ secretName: z.string() }).optional(),
  persistentVolumeClaim: z.looseObject({ claimName: z.string() }).optional(),
  projected: z.looseObject({ sources: z.array(z.looseObject({ secret: SecretItems.optional() })) }).optional(),
});
export type Volume = z.output<typeof Volume>;

const PodSpec = z.looseObject({
  serviceAccountName: z.string().optional(),
  automountServiceAccountToken: z.boolean().optional(),
  enableServiceLinks: z.boolean().optional(),
  terminationGracePeriodSeconds: z.number(),
  securityContext: z.looseObject({}).default({}),
  containers: z.array(Container).min(1),
  initContainers: z.array(Container).default([]),
  volumes: z.array(Volume).default([]),
});
export type PodSpec = z.output<typeof PodSpec>;

const WorkloadSpec = z.looseObject({
  replicas: z.number().optional(),
  selector: z.looseObject({ matchLabels: Labels }),
  template: z.looseObject({ metadata: z.looseObject({ labels: Labels }), spec: PodSpec }),
});

/** A Deployment or StatefulSet, with the parts of its pods that policies read. */
export interface Workload {
  readonly object: KubernetesObject;
  readonly title: string;
  readonly namespace: string;
  /** The service, or the trial server. */
  readonly component: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly pod: PodSpec;
  readonly containers: readonly z.output<typeof Container>[];
}

/** The workloads among objects. @throws {ZodError} for one whose pods have another shape */
export function workloadsOf(objects: readonly KubernetesObject[]): Workload[] {
  return ofKind(objects, 'Deployment', 'StatefulSet').map((object) => {
    const { selector, template } = WorkloadSpec.parse(object['spec']);
    const { labels } = template.metadata;
    return {
      object,
      title: titleOf(object),
      namespace: object.metadata.namespace ?? '',
      component: labels['app.kubernetes.io/component'] ?? '',
      selector: selector.matchLabels,
      labels,
      pod: template.spec,
      containers: [...template.spec.initContainers, ...template.spec.containers],
    };
  });
}

/** Whether labels have all of a selector's. */
export const selects = (
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string | undefined>>,
): boolean => Object.entries(selector).every(([name, value]) => labels[name] === value);

/** Keys of Secrets that a pod mounts, as `<secret>/<key>`; the key is empty where a Secret is mounted as a whole. */
export function mountedSecrets({ volumes }: PodSpec): string[] {
  return volumes.flatMap(({ secret, projected }) => [
    ...(secret === undefined ? [] : [`${secret.secretName}/`]),
    ...(projected?.sources ?? []).flatMap(({ secret: source }) =>
      source === undefined ? [] : source.items.map(({ key }) => `${source.name}/${key}`),
    ),
  ]);
}
