import { SessionGate } from './session.js';

const read = { sentAt: 0, changes: false };
const change = { sentAt: 0, changes: true };

describe('SessionGate', () => {
  test('refused requests wait until the person has signed in, and are sent again', async () => {
    const gate = new SessionGate();
    const waiting = [gate.reopened(read), gate.reopened(change)];

    expect(gate.state.read()).toBe('ended');
    gate.open();
    expect(await Promise.all(waiting)).toEqual([true, true]);
    expect([gate.state.read(), gate.count]).toEqual(['open', 1]);
  });

  test('a refusal that arrives after the next session has begun asks nobody', async () => {
    const gate = new SessionGate();
    const sentAt = gate.count;
    gate.end();
    gate.open();

    expect(await gate.reopened({ sentAt, changes: false })).toBe(true);
    expect(gate.state.read()).toBe('open');
  });

  test('when the person does not sign in, requests fail; later reads ask nobody, a change asks again', async () => {
    const gate = new SessionGate();
    const waiting = gate.reopened(change);
    gate.leave();

    expect(await waiting).toBe(false);
    expect(await gate.reopened(read)).toBe(false);
    expect(gate.state.read()).toBe('left');
    const later = gate.reopened(change);
    expect(gate.state.read()).toBe('ended');
    gate.open();
    expect(await later).toBe(true);
  });

  test('a request that is cancelled waits no longer', async () => {
    const gate = new SessionGate();
    const stop = new AbortController();
    const waiting = gate.reopened({ ...read, signal: stop.signal });
    stop.abort(new Error('the page was left'));

    await expect(waiting).rejects.toThrow('the page was left');
    await expect(gate.reopened({ ...read, signal: stop.signal })).rejects.toThrow('the page was left');
  });
});
