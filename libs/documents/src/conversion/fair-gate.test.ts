import { RateLimitedError } from '@caribou/contracts';
import { FairGate } from './fair-gate.js';

/** A gate whose visitors write down that they are in; each leaves when the test says so. */
function visited(maxAtOnce: number, maxWaiting = 32) {
  const gate = new FairGate({ maxAtOnce, maxWaiting });
  const order: string[] = [];
  const inside: (() => void)[] = [];
  const visit = async (name: string, owner?: string, signal?: AbortSignal): Promise<void> => {
    const leave = await gate.acquire({ owner, signal });
    order.push(name);
    inside.push(leave);
  };
  const oneLeaves = async (): Promise<void> => {
    inside.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { gate, order, visit, oneLeaves };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('FairGate', () => {
  test('one user’s document is next, behind thirty of another one', async () => {
    const { order, visit, oneLeaves } = visited(1);
    for (let at = 0; at < 30; at += 1) void visit(`b${at}`, 'b');
    void visit('a', 'a');
    await settled();
    await oneLeaves();
    expect(order).toEqual(['b0', 'a']);
    await oneLeaves();
    await oneLeaves();
    expect(order).toEqual(['b0', 'a', 'b1', 'b2']);
  });

  test('a flood leaves room for other owners', async () => {
    const { order, visit } = visited(2);
    for (let at = 0; at < 30; at += 1) void visit(`b${at}`, 'b');
    await settled();
    expect(order).toEqual(['b0']);
    void visit('a', 'a');
    await settled();
    expect(order).toEqual(['b0', 'a']);
  });

  test('three users take turns', async () => {
    const { order, visit, oneLeaves } = visited(1);
    for (const owner of ['a', 'b', 'c']) for (const at of [1, 2, 3]) void visit(`${owner}${at}`, owner);
    await settled();
    for (let at = 0; at < 8; at += 1) await oneLeaves();
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3']);
  });

  test('without owners all of the room is used, and a full list refuses', async () => {
    const { order, visit, oneLeaves } = visited(2, 1);
    void visit('1');
    void visit('2');
    void visit('3');
    await settled();
    await expect(visit('4')).rejects.toThrow(RateLimitedError);
    expect(order).toEqual(['1', '2']);
    await oneLeaves();
    expect(order).toEqual(['1', '2', '3']);
  });

  test('a full queue excludes no other owner, and an aborted request frees its position', async () => {
    const { order, visit, oneLeaves } = visited(1, 2);
    const abort = new AbortController();
    void visit('b0', 'b');
    const given = visit('b1', 'b', abort.signal);
    void visit('b2', 'b');
    await settled();
    await expect(visit('b3', 'b')).rejects.toThrow(RateLimitedError);
    void visit('a', 'a');
    abort.abort(new Error('gone'));
    await expect(given).rejects.toThrow('gone');
    await oneLeaves();
    await oneLeaves();
    expect(order).toEqual(['b0', 'a', 'b2']);
  });

  test('says how many wait and for how long, and that nobody waits any more', async () => {
    const { gate, visit, oneLeaves } = visited(1);
    expect(gate.queueState()).toEqual({ length: 0, oldestWaitMs: 0 });

    for (const name of ['1', '2', '3']) void visit(name);
    await settled();
    await new Promise((resolve) => setImmediate(resolve));
    const state = gate.queueState();
    expect(state.length).toBe(2);
    expect(state.oldestWaitMs).toBeGreaterThan(0);

    await oneLeaves();
    await oneLeaves();
    expect(gate.queueState()).toEqual({ length: 0, oldestWaitMs: 0 });
  });
});
