import type { KubernetesObject } from '../render/objects.js';
import { externalObjects, goldenObjects, VALUE_SETS } from '../render/value-sets.js';
import { accessPolicies } from './access-policies.js';
import { objectPolicies, referencesExist } from './object-policies.js';
import { type Policy, podPolicies } from './pod-policies.js';
import { drainPolicies } from './drain-policies.js';

const policies = { ...podPolicies, ...objectPolicies, ...accessPolicies, ...drainPolicies };

describe.each(VALUE_SETS)('the render of %s', (set) => {
  const objects = goldenObjects(set);

  test.each(Object.entries(policies))('%s', (_name, policy) => {
    expect(policy(objects)).toEqual([]);
  });

  test('everything that pods refer to is there', () => {
    expect(referencesExist(externalObjects(set))(objects)).toEqual([]);
  });

  test('has the five services', () => {
    const names = objects.filter(({ kind }) => kind === 'Deployment').map(({ metadata }) => metadata.name);
    expect(names.sort()).toEqual(
      ['agent-runner', 'gateway', 'memory-worker', 'sandbox-manager', 'subagent-pool'].map((name) => `caribou-${name}`),
    );
  });
});

describe('a policy finds', () => {
  const text = JSON.stringify(goldenObjects('everything'));

  /** The faults that a policy finds in the render of everything, with its text changed. */
  function faultsAfter(policy: Policy | undefined, from: string | RegExp, to: string): string[] {
    const changed = text.replace(from, to);
    expect(changed).not.toBe(text);
    return policy?.(JSON.parse(changed) as KubernetesObject[]) ?? [];
  }

  test.each<[keyof typeof policies, string | RegExp, string]>([
    ['every container has limits', /"limits":\{"cpu":"[^"]+",/, '"limits":{'],
    ['every temporary volume has a limit', '"emptyDir":{"sizeLimit":"64Mi"}', '"emptyDir":{}'],
    ['directories of a service are below its mounts', '/var/lib/caribou/home', '/var/lib/caribou'],
    ['nothing of the machine is used', '"emptyDir":{"sizeLimit":"64Mi"}', '"hostPath":{"path":"/"}'],
    ['nothing of the machine is used', '"mountPath":"/tmp"', '"mountPath":"/var/run/docker.sock"'],
    ['every pod is restricted', '"runAsNonRoot":true', '"runAsNonRoot":false'],
    ['every pod is restricted', '"drop":["ALL"]', '"drop":["NET_RAW"]'],
    [
      'only sandbox-managers have a token of the API',
      '"automountServiceAccountToken":false,"enable',
      '"automountServiceAccountToken":true,"enable',
    ],
    ['no service is process 1', '"shareProcessNamespace":true,', ''],
    ['every service has its probes', '"path":"/ready?for=traffic"', '"path":"/ready"'],
    ['every Deployment has one budget', '"kind":"PodDisruptionBudget"', '"kind":"Budget"'],
    ['every Service leads to pods', '"targetPort":"http"', '"targetPort":"https"'],
    [
      'what is scaled has no fixed number of pods',
      '"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"caribou-',
      '"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"other-',
    ],
    ['every monitor selects pods', '"values":["gateway"]', '"values":["door"]'],
    [
      'every volume is there and mounted',
      '{"name":"tmp","mountPath":"/tmp"}',
      '{"name":"temporary","mountPath":"/tmp"}',
    ],
    [
      'a sandbox-manager sees no key of a model',
      '"S3_ACCESS_KEY_ID","path":"S3_ACCESS_KEY_ID"},{"key":"S3_SECRET_ACCESS_KEY","path":"S3_SECRET_ACCESS_KEY"}]}},{"secret":{"name":"nats-tls"',
      '"OPENAI_API_KEY","path":"OPENAI_API_KEY"}]}},{"secret":{"name":"nats-tls"',
    ],
    ['rights at the Kubernetes API are the least', '"resources":["pods"]', '"resources":["pods","secrets"]'],
    [
      'namespaces of the chart are restricted',
      '"pod-security.kubernetes.io/enforce":"restricted"',
      '"pod-security.kubernetes.io/enforce":"baseline"',
    ],
    [
      'sandboxes reach sandbox-managers only',
      /("namespace":"agents-sandboxes".+?"egress":\[\{"ports":\[\{"protocol":"TCP","port":)3129/,
      '$153',
    ],
    [
      'everything is denied by default',
      '"podSelector":{},"policyTypes"',
      '"podSelector":{"matchLabels":{"a":"b"}},"policyTypes"',
    ],
    [
      'every NetworkPolicy selects something',
      /("podSelector":\{"matchLabels":\{[^}]+component":")memory-worker/,
      '$1worker',
    ],
    [
      'every selector selects the pods of one workload',
      /("selector":\{"matchLabels":\{[^}]+component":")gateway("\}\},"template")/,
      '$1agent-runner$2',
    ],
    ['a stop has time enough', /"terminationGracePeriodSeconds":\d+/, '"terminationGracePeriodSeconds":30'],
  ])('%s: a breach of it', (name, from, to) => {
    expect(faultsAfter(policies[name], from, to)).not.toEqual([]);
  });

  test('a key that a Secret of the chart lacks', () => {
    const changed = JSON.stringify(goldenObjects('trial')).replace(
      '"stringData":{"OPENAI_API_KEY"',
      '"stringData":{"KEY"',
    );
    const faults = objectPolicies['every Secret of the chart has its keys']?.(
      JSON.parse(changed) as KubernetesObject[],
    );
    expect(faults).toEqual([expect.stringMatching(/has no OPENAI_API_KEY$/)]);
  });

  test('a Secret that nobody has', () => {
    const faults = referencesExist(new Set())(goldenObjects('production'));
    expect(faults).toContain('Deployment caribou-gateway: there is no Secret/caribou-gateway');
  });
});
