import { z } from 'zod';
import { integer, ms } from '../kinds/setting-kinds.js';

/** RFC 1123: a label of DNS, as names of namespaces, secrets and runtime classes are made of. */
const DNS_LABEL = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/;
const DNS_NAME = /^(?=.{1,253}$)[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)*$/;
const LABEL_KEY = /^(?:(?=.{1,253}\/)[a-z\d](?:[a-z\d.-]*[a-z\d])?\/)?[A-Za-z\d](?:[\w.-]{0,61}[A-Za-z\d])?$/;
const LABEL_VALUE = /^(?:[A-Za-z\d](?:[\w.-]{0,61}[A-Za-z\d])?)?$/;

const name = () => z.string().regex(DNS_NAME, 'must be a name of lower-case letters, digits, "-" and "."');
const label = () =>
  z.string().regex(DNS_LABEL, 'must be 1 to 63 lower-case letters, digits or "-", not at its beginning or end');
const port = (fallback: number) => integer(fallback, 1_024, 65_535);

const Toleration = z.strictObject({
  key: z.string().regex(LABEL_KEY, 'must be the key of a taint').optional(),
  operator: z.enum(['Exists', 'Equal']).optional(),
  value: z.string().regex(LABEL_VALUE, 'must be the value of a taint').optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
  tolerationSeconds: z.int().min(0).max(86_400).optional(),
});

/** The section `sandbox.kubernetes`. */
export const KubernetesFile = z
  .object({
    installation: label()
      .default('caribou')
      .describe('Distinguishes the sandboxes of installations that share a namespace; a label of their pods'),
    namespace: label().default('caribou-sandboxes').describe('Where the pods of sandboxes are made'),
    image: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('Image of a pod, with the agent (docker/sandbox); unset: sandbox.image'),
    image_pull_policy: z
      .enum(['Always', 'IfNotPresent', 'Never'])
      .default('IfNotPresent')
      .describe('When a node pulls the image: Always, IfNotPresent or Never'),
    image_pull_secrets: z.array(name()).max(20).default([]).describe('Secrets of the namespace with rights to pull it'),
    runtime_class: name().optional().describe('Runtime class of pods, such as gvisor; unset: the default of the node'),
    user_namespaces: z
      .union([z.literal('auto'), z.boolean()])
      .default('auto')
      .describe('A user namespace for each pod (hostUsers: false): true, false, or auto: where a trial pod gets one'),
    node_selector: z
      .record(z.string().regex(LABEL_KEY, 'must be the key of a label'), z.string().regex(LABEL_VALUE))
      .refine((labels) => Object.keys(labels).length <= 50, 'at most 50 labels')
      .default({})
      .describe('Labels of the nodes that may run sandboxes'),
    tolerations: z.array(Toleration).max(50).default([]).describe('Taints of nodes that sandboxes tolerate'),
    service_account: name()
      .optional()
      .describe('Service account of pods; its token is never mounted. Unset: the default one of the namespace'),
    warm_pods: integer(0, 0, 500).describe('Pods that each sandbox-manager has ready for threads without a sandbox'),
    start_ms: ms(120_000, 1_800_000).describe('How long the start of a pod may take, with the pull of its image'),
    agent_port: port(7_777).describe('Port of the agent in a pod, which sandbox-managers connect to'),
    proxy_port: port(3_129).describe('Port of the egress proxy, which pods connect to; open where hosts are allowed'),
    proxy_host: z
      .string()
      .min(1)
      .max(253)
      .optional()
      .describe('Address by which pods reach the egress proxy of this sandbox-manager; unset: CARIBOU_POD_IP'),
    workspace_bytes: integer(4_294_967_296, 16_777_216, 1_099_511_627_776).describe(
      'Disk that the files of a pod may take, at least sandbox.limits.workspace_bytes; the node ends a pod that takes more',
    ),
    kubeconfig: z
      .string()
      .startsWith('/', 'must be an absolute path')
      .optional()
      .describe('Access to the API server of a cluster; unset: that of the service account of this pod'),
    require_network_policy: z
      .boolean()
      .default(true)
      .describe('Make no sandboxes where a trial pod can connect to what its network policy should forbid'),
  })
  .refine(({ agent_port, proxy_port }) => agent_port !== proxy_port, {
    error: 'agent_port and proxy_port must differ',
    path: ['proxy_port'],
  })
  .describe('Sandboxes as pods of a Kubernetes cluster (docs/kubernetes.md), with driver: kubernetes');
