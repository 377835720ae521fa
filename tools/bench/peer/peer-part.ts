import type { Bench, Part } from '../bench.js';
import { type Pids, residentBytes } from '../cpu-time.js';
import { type Fleet, startFleet } from '../fleet.js';
import { type Load, measureLoads, simpleTurn, type Subject, warmUp } from '../load.js';
import { openProcessGroup } from '../process-group.js';
import { say, sayLoads } from '../report.js';
import { sum } from '../sample.js';
import { readStream } from '../sse-client.js';
import { SIZED_RESULT_CONFIG, toolTurn } from '../tool-turn.js';
import { floorTarget, langGraphTarget, type Target } from '../turns.js';
import { startPeer } from './peer-process.js';

/** Characters of the result of the trivial tool. */
const TRIVIAL_CHARS = 16;

/**
 * Compares Caribou with an in-memory agent server on the OpenAI Agents SDK and Fastify, in one process and with the
 * same model: simple turns with 64 threads at once, beside the floor, and turns with one call of a trivial tool with 16
 * at once. Every turn is on a new thread. The peer stores nothing.
 */
export const peer: Part = async (bench) => {
  const fleet = await startFleet({ config: SIZED_RESULT_CONFIG });
  const group = await openProcessGroup();
  try {
    const server = await startPeer(group, fleet.modelUrl);
    await comparePeer(bench, fleet, { pid: server.pid, port: server.port });
  } finally {
    await group.stop();
    await fleet.stop();
  }
  return [];
};

async function comparePeer(
  { times }: Bench,
  fleet: Fleet,
  { pid, port }: { pid: number; port: number },
): Promise<void> {
  const product: Pids = { ...fleet.services, ...fleet.servers };
  const floor: Subject = { target: floorTarget(fleet.floorUrl), pids: fleet.floor };
  const caribou: Subject = { target: langGraphTarget('caribou', fleet.apiUrl), pids: product };
  const other: Subject = { target: peerTarget(`http://127.0.0.1:${port}`), pids: { peer: pid } };
  const withTool = ({ target, pids }: Subject): Subject => ({
    target: { ...target, name: `${target.name}, one tool` },
    pids,
  });
  await warmUp([floor, caribou, other], times);
  sayResident('before the loads', { caribou: product, floor: fleet.floor, peer: other.pids });
  const full = await measureLoads([floor, caribou, other], {
    concurrency: 64,
    turns: times(1_600),
    script: simpleTurn(),
  });
  const step: Load = { concurrency: 16, turns: times(600), script: toolTurn(1, TRIVIAL_CHARS) };
  await measureLoads([caribou, other], step);
  const steps = await measureLoads([withTool(caribou), withTool(other)], step);
  sayLoads([...full, ...steps]);
  sayResident('after the loads', { caribou: product, floor: fleet.floor, peer: other.pids });
}

function sayResident(when: string, servers: Readonly<Record<string, Pids>>): void {
  const mebibytes = (bytes: number): string => (bytes / 1024 ** 2).toFixed(0);
  const figures = Object.entries(servers).map(([name, pids]) => {
    const each = Object.entries(pids).map(([process, pid]) => [process, residentBytes(pid)] as const);
    const all = sum(each.map(([, bytes]) => bytes));
    const shares = each.map(([process, bytes]) => `${process} ${mebibytes(bytes)}`).join(', ');
    return each.length === 1 ? `${name} ${mebibytes(all)}` : `${name} ${mebibytes(all)} (${shares})`;
  });
  say();
  say(`Resident memory ${when}, MiB: ${figures.join('; ')}`);
}

/** The peer, asked for a turn on a thread. */
const peerTarget = (url: string): Target => ({
  name: 'peer',
  prepare: (turns) => Promise.resolve(Array.from({ length: turns }, () => crypto.randomUUID())),
  turn: (thread, content) => readStream({ method: 'POST', url: `${url}/threads/${thread}/turns`, body: { content } }),
});
