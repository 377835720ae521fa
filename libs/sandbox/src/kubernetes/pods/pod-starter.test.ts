import { connect } from 'node:net';
import { missingForPodNetworks, waitFor } from '@caribou/testing';
import { openPods, type PodFixture, purpose } from '../../testing/pod-fixture.js';

const reason = missingForPodNetworks();
const describeWithPods = reason === null ? describe : describe.skip;
if (reason !== null) process.stderr.write(`skipped: pods (${reason})\n`);

let pods: PodFixture;
beforeEach(async () => {
  pods = await openPods();
});
afterEach(() => pods.close());

const namesOf = (): readonly string[] => pods.server.cluster.list().map(({ metadata }) => metadata.name);
const refuses = (host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port: 7_777, timeout: 1_000 });
    const end = (isRefused: boolean): void => {
      socket.destroy();
      resolve(isRefused);
    };
    socket
      .on('connect', () => end(false))
      .on('error', () => end(true))
      .on('timeout', () => end(true));
  });

describeWithPods('PodStarter', () => {
  test.each([true, false])(
    'starts a pod whose agent answers, with its own user namespace: %s',
    async (hasUserNamespace) => {
      const pod = await pods.starterWith().start({ ...purpose, hasUserNamespace });

      expect(pod).toMatchObject({
        name: expect.stringMatching(/^caribou-test-[\da-f]{8}$/),
        token: expect.any(String),
      });
      expect(JSON.stringify(pods.server.created)).not.toContain(pod.token);
      expect(await refuses(pod.address)).toBe(false);
      await pods.remover.end(pod);
      expect([namesOf(), pods.kubelet.count]).toEqual([[], 0]);
    },
  );

  const failures: readonly (readonly [string, object, RegExp])[] = [
    [
      'an image that cannot be pulled',
      {
        containerStatuses: [
          {
            name: 'sandbox',
            state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "x"' } },
          },
        ],
      },
      /did not start: ImagePullBackOff: Back-off pulling image "x"/,
    ],
    [
      'no node',
      {
        conditions: [
          {
            type: 'PodScheduled',
            status: 'False',
            reason: 'Unschedulable',
            message: '0/2 nodes are available: 2 Insufficient memory.',
          },
        ],
      },
      /within 800 ms \(sandbox.kubernetes.start_ms\): no node can run the pod: Unschedulable: 0\/2 nodes/,
    ],
    [
      'an eviction',
      { phase: 'Failed', reason: 'Evicted', message: 'disk pressure' },
      /the pod was evicted: disk pressure/,
    ],
    [
      'an address at which nothing answers',
      { phase: 'Running', podIP: '127.0.0.1', containerStatuses: [{ name: 'sandbox', state: { running: {} } }] },
      /its agent does not answer at 127.0.0.1:7777: does a network policy/,
    ],
  ];

  test.each(failures)('for %s says what it was, and leaves no pod', async (_, status, expected) => {
    pods.kubelet.fate = () => (found) => void Object.assign(found, status);

    await expect(pods.starterWith({ startMs: 800 }).start(purpose)).rejects.toThrow(expected);
    await waitFor(() => namesOf().length === 0, { what: 'the end of the pod' });
  });

  test('a node that says why it cannot start a pod ends the start at once', async () => {
    const message = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
    pods.kubelet.fate = ({ metadata }) => {
      pods.server.events.set(metadata.uid, [{ reason: 'FailedCreatePodSandBox', message }]);
      return () => undefined;
    };

    await expect(pods.starterWith().start(purpose)).rejects.toThrow(
      /did not start: FailedCreatePodSandBox: .*runtime does not support user namespaces/,
    );
  });

  test('a pod that is deleted while it starts is an error at once', async () => {
    pods.kubelet.fate = () => () => undefined;
    const starting = pods.starterWith().start(purpose);
    await waitFor(() => namesOf().length === 1, { what: 'the pod' });
    for (const { metadata } of pods.server.cluster.list()) pods.server.cluster.remove(metadata.name, metadata.uid);

    await expect(starting).rejects.toThrow('the pod was deleted while it started');
  });

  test('the signal ends the start, and the pod', async () => {
    pods.kubelet.fate = () => () => undefined;
    const stop = new AbortController();
    const starting = pods.starterWith().start(purpose, stop.signal);
    await waitFor(() => namesOf().length === 1, { what: 'the pod' });
    stop.abort(new Error('stopped'));

    await expect(starting).rejects.toThrow('stopped');
    await waitFor(() => namesOf().length === 0, { what: 'the end of the pod' });
  });
});

describeWithPods('PodRemover', () => {
  test('ends a pod on a lost node after the lease of its agent', async () => {
    const pod = await pods.starterWith().start(purpose);
    pods.kubelet.lose();

    await pods.remover.end(pod);

    expect(namesOf()).toEqual([]);
  });

  test('repeats a deletion that has failed, and never deletes another pod', async () => {
    const pod = await pods.starterWith().start(purpose);
    pods.server.faults.add({ on: ({ method }) => method === 'DELETE', times: 6, status: 500 });
    await pods.remover.remove({ name: pod.name, uid: 'another' });
    expect(pods.failures).toHaveLength(1);
    await pods.remover.remove({ name: pod.name, uid: 'another' });
    expect(namesOf()).toEqual([pod.name]);

    pods.server.faults.add({ on: ({ method }) => method === 'DELETE', times: 6, status: 500 });
    await pods.remover.remove(pod);
    await waitFor(() => namesOf().length === 0, { what: 'the end of the pod' });
  }, 60_000);
});
