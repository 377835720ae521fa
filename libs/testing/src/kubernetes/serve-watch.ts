import type { ServerResponse } from 'node:http';
import type { FakeCluster, StoredEvent, StoredPod } from './fake-cluster.js';

export interface ServedWatch {
  readonly version: number;
  readonly timeoutMs: number;
  readonly isSelected: (pod: StoredPod) => boolean;
}

/** Answers a watch: what came after the version, then what comes, until its time is up. */
export function serveWatch(cluster: FakeCluster, response: ServerResponse, watch: ServedWatch): void {
  const { version, timeoutMs, isSelected } = watch;
  const write = (line: object): void => void response.write(`${JSON.stringify(line)}\n`);
  const earlier = cluster.since(version);
  if (earlier === null) {
    response.writeHead(410, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        ...{ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 410, reason: 'Expired' },
        message: `too old resource version: ${version}`,
      }),
    );
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  // A pod that a label selects no more is deleted for this watch.
  const seen = new Set<string>();
  const tell = ({ type, pod }: StoredEvent): void => {
    const { uid } = pod.metadata;
    if (isSelected(pod)) {
      seen.add(uid);
      write({ type, object: pod });
    } else if (seen.delete(uid)) write({ type: 'DELETED', object: pod });
  };
  for (const event of earlier) tell(event);
  write({ type: 'BOOKMARK', object: { kind: 'Pod', metadata: { resourceVersion: String(cluster.version) } } });
  const stop = cluster.follow(tell);
  const timer = setTimeout(() => response.end(), timeoutMs);
  response.on('close', () => {
    clearTimeout(timer);
    stop();
  });
}
