import { missingForPodSchema, openPodSchema, restrictedViolations, sandboxViolations } from '@caribou/testing';
import { kubernetesSettings, manifestOf } from '../../testing/api-fixture.js';
import { podManifest, settingsDigest } from './pod-spec.js';

const identity = {
  ...{ name: 'caribou-1-abcd', labels: { 'caribou.dev/warm': 'true' }, annotations: { 'caribou.dev/user': 'ä b' } },
  ...{ agentEnvironment: { CARIBOU_AGENT_TOKEN_SHA256: 'hash' }, hasUserNamespace: true, isTrial: true, user: 10_001 },
};
const everything = kubernetesSettings({
  ...{ image: 'registry.example/sandbox@sha256:0', imagePullSecrets: ['pull'], runtimeClass: 'gvisor' },
  ...{ nodeSelector: { pool: 'sandboxes' }, serviceAccount: 'sandbox' },
  tolerations: [{ key: 'sandbox', operator: 'Exists', effect: 'NoSchedule' }],
});
const plain = manifestOf('caribou-1');
const full = podManifest(everything, identity);

describe('podManifest', () => {
  test('holds the pod security standard "restricted" and the rules for sandboxes', () => {
    for (const manifest of [plain, full])
      expect([...restrictedViolations(manifest), ...sandboxViolations(manifest)]).toEqual([]);
  });

  test('mounts nothing of the node, has no token and no addresses of services', () => {
    const text = JSON.stringify([plain, full]);

    expect(plain).toMatchObject({
      spec: {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        restartPolicy: 'Never',
        dnsPolicy: 'None',
      },
    });
    expect(text).not.toMatch(/hostPath|secret"|configMap|projected|downwardAPI|"hostNetwork":true/);
  });

  test('reserves what a sandbox may use, and bounds its volumes', () => {
    const bounds = { cpu: '1000m', memory: '2147483648', 'ephemeral-storage': '4630511616' };

    expect(plain).toMatchObject({
      spec: {
        containers: [{ resources: { requests: bounds, limits: bounds } }],
        volumes: [
          { name: 'user-data', emptyDir: { sizeLimit: '4294967296' } },
          { name: 'skills', emptyDir: { sizeLimit: '268435456' } },
          { name: 'tmp', emptyDir: { sizeLimit: '268435456', medium: 'Memory' } },
          { name: 'shm', emptyDir: { sizeLimit: '268435456', medium: 'Memory' } },
        ],
      },
    });
  });

  test('carries out what the settings say about nodes, runtime, image and users', () => {
    expect(full).toMatchObject({
      spec: {
        ...{
          hostUsers: false,
          runtimeClassName: 'gvisor',
          nodeSelector: { pool: 'sandboxes' },
          activeDeadlineSeconds: 600,
        },
        ...{ serviceAccountName: 'sandbox', imagePullSecrets: [{ name: 'pull' }] },
        tolerations: [{ key: 'sandbox', operator: 'Exists', effect: 'NoSchedule' }],
        containers: [{ image: 'registry.example/sandbox@sha256:0' }],
      },
    });
    for (const field of ['hostUsers', 'runtimeClassName', 'activeDeadlineSeconds', 'tolerations'])
      expect(plain['spec']).not.toHaveProperty(field);
  });

  const reason = missingForPodSchema();
  (reason === null ? test : test.skip)(
    `is valid by the schema of Kubernetes${reason === null ? '' : ` (${reason})`}`,
    () => {
      const check = openPodSchema();

      for (const manifest of [plain, full]) expect(() => check(manifest)).not.toThrow();
      expect(() => check({ ...plain, spec: { containers: 'none' } })).toThrow(/spec\/containers/);
      expect(() => check({ ...plain, spec: { ...(plain['spec'] as object), hostUser: false } })).toThrow(/hostUser/);
    },
  );
});

test('settingsDigest changes with what a pod is made of, and with nothing else', () => {
  const digest = settingsDigest(everything, false);

  expect(settingsDigest(kubernetesSettings({ ...everything.kubernetes, warmPods: 9, startMs: 1 }), false)).toBe(digest);
  expect(settingsDigest(everything, true)).not.toBe(digest);
  expect(settingsDigest({ ...everything, limits: { ...everything.limits, cpus: 2 } }, false)).not.toBe(digest);
  expect(settingsDigest(kubernetesSettings({ ...everything.kubernetes, image: 'other' }), false)).not.toBe(digest);
});
