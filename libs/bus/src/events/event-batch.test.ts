import type { NumberedEvent } from '@caribou/contracts';
import { decodeBatch, encodeBatches, encodeMarker } from './event-batch.js';

const end: NumberedEvent = { seq: 3, event: { kind: 'end', status: 'success' } };
const decode = (value: unknown) => decodeBatch(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));

describe('a batch of events', () => {
  test('is read as it was published', () => {
    const batches = encodeBatches({ events: [end], logged: 2 }, 10_000);
    expect(batches.map(decodeBatch)).toEqual([{ events: [end], logged: 2 }]);
    expect(decodeBatch(encodeMarker(5))).toEqual({ events: [], logged: 5 });
  });

  test('without a newest number of the log has all its events in it', () => {
    expect(decode({ first: 3, events: [end.event, end.event] })?.logged).toBe(4);
  });

  test.each([
    ['no JSON', '{'],
    ['no object', [1]],
    ['null', 'null'],
    ['no first number', { events: [] }],
    ['a first number below 1', { first: 0, events: [] }],
    ['a first number that is not whole', { first: 1.5, events: [] }],
    ['a first number too large to count from', { first: 2 ** 53, events: [] }],
    ['no events', { first: 1 }],
    ['events that are no list', { first: 1, events: {} }],
    ['a newest number below 0', { first: 1, events: [], logged: -1 }],
    ['a newest number of another type', { first: 1, events: [], logged: null }],
    ['an event of an unknown kind', { first: 1, events: [{ kind: 'later' }] }],
    ['an event that is no object', { first: 1, events: [null] }],
  ])('with %s is not read', (_fault, value) => {
    expect(decode(value)).toBeUndefined();
  });
});
