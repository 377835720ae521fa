import { systemClock } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import { type ApiFixture, manifestOf, NAMESPACE, openApi } from '../../testing/api-fixture.js';
import type { Pod } from '../api/pod.js';
import { watchPods } from '../api/watch-pods.js';
import { podSelector } from './pod-names.js';
import { PodWatcher } from './pod-watcher.js';

let fixture: ApiFixture;
let watcher: PodWatcher;
const failures: unknown[] = [];

beforeEach(async () => {
  fixture = await openApi();
  const { api, connection } = fixture;
  const selector = podSelector('caribou');
  failures.length = 0;
  watcher = new PodWatcher({
    ...{ api, selector, clock: systemClock, random: () => 0 },
    watch: (resourceVersion, signal) =>
      watchPods(connection, { namespace: NAMESPACE, selector, resourceVersion, signal }),
    onFailure: (error) => void failures.push(error),
  });
  watcher.start();
  await waitFor(() => fixture.server.watchCount === 1, { what: 'the watch' });
});
afterEach(async () => {
  await watcher.stop();
  await fixture.close();
});

const phaseOf = (pod: Pod | null): string | undefined => (pod === null ? 'gone' : pod.status.phase);
const untilPhase = (name: string, phase: string) =>
  watcher.until(name, (pod) => (phaseOf(pod) === phase ? true : undefined), { timeoutMs: 10_000 });
const setPhase = (pod: Pod, phase: string): void =>
  void fixture.server.cluster.change(pod.metadata.name, pod.metadata.uid, ({ status }) => (status['phase'] = phase));
/** Answers to questions about a pod are errors, so that only events can show a change. */
const withoutQuestions = () =>
  fixture.server.faults.add({
    on: ({ path, method }) => method === 'GET' && path.endsWith('/one'),
    times: 1_000,
    status: 500,
  });

describe('PodWatcher', () => {
  test('sees changes and the end of a pod by events', async () => {
    const pod = await fixture.api.create(manifestOf('one'));
    withoutQuestions();
    const running = untilPhase('one', 'Running');
    setPhase(pod, 'Running');
    expect(await running).toBe(true);
    const gone = untilPhase('one', 'gone');
    fixture.server.cluster.remove('one', pod.metadata.uid);

    expect(await gone).toBe(true);
    expect(failures).toEqual([]);
  });

  test('continues after a lost watch with what it has missed', async () => {
    const pod = await fixture.api.create(manifestOf('one'));
    withoutQuestions();
    const running = untilPhase('one', 'Running');
    fixture.server.cutWatches();
    setPhase(pod, 'Running');

    expect(await running).toBe(true);
  });

  test('lists again when the server has forgotten the version (410), and sees what is gone since', async () => {
    const pod = await fixture.api.create(manifestOf('one'));
    await untilPhase('one', 'Pending');
    withoutQuestions();
    const gone = untilPhase('one', 'gone');
    fixture.server.faults.add({ on: ({ isWatch }) => isWatch, status: 500, times: 1 });
    fixture.server.cutWatches();
    fixture.server.cluster.remove('one', pod.metadata.uid);
    fixture.server.cluster.compact();

    expect(await gone).toBe(true);
  });

  test('finds a change by asking when no watch can be had', async () => {
    fixture.server.faults.add({ on: ({ isWatch }) => isWatch, times: 1_000, status: 503 });
    fixture.server.cutWatches();
    const pod = await fixture.api.create(manifestOf('one'));
    const running = untilPhase('one', 'Running');
    setPhase(pod, 'Running');

    expect(await running).toBe(true);
  });

  test('says that the time is up, or why nothing is known', async () => {
    expect(await watcher.until('one', () => undefined, { timeoutMs: 300 })).toBeUndefined();
    withoutQuestions();
    await expect(watcher.until('one', () => undefined, { timeoutMs: 300 })).rejects.toThrow(/answered 500/);
    const abort = AbortSignal.abort(new Error('stopped'));
    await expect(watcher.until('one', () => undefined, { timeoutMs: 300, signal: abort })).rejects.toThrow('stopped');
  });
});
