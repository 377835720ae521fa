import { isDelivered } from './event-filter.js';
import { json, type ProjectedEvent } from './projected-event.js';

const event = (channel: ProjectedEvent['channel'], ...namespace: string[]): ProjectedEvent => ({
  channel,
  method: 'custom',
  namespace,
  payload: json(null),
});

describe(isDelivered, () => {
  test.each<[string, ProjectedEvent['channel'], string[], Parameters<typeof isDelivered>[1], boolean]>([
    ['its channel', 'values', [], { channels: ['values'] }, true],
    ['another channel', 'values', [], { channels: ['updates'] }, false],
    ['custom for a named event', 'custom:x', [], { channels: ['custom'] }, true],
    ['the name of a custom event', 'custom:x', [], { channels: ['custom:x'] }, true],
    ['another name', 'custom:x', [], { channels: ['custom:y'] }, false],
    ['a name for an event without one', 'custom', [], { channels: ['custom:x'] }, false],
    ['no namespaces', 'values', ['tools:1'], { channels: ['values'], namespaces: [] }, true],
    ['a prefix', 'values', ['tools:1', 'a'], { channels: ['values'], namespaces: [['tools:1']] }, true],
    ['another namespace', 'values', ['tools:1'], { channels: ['values'], namespaces: [['tools:2']] }, false],
    ['a longer namespace', 'values', [], { channels: ['values'], namespaces: [['tools:2']] }, false],
    ['the static name of a segment', 'values', ['tools:1'], { channels: ['values'], namespaces: [['tools']] }, true],
    ['a depth', 'values', ['a'], { channels: ['values'], namespaces: [[]], depth: 1 }, true],
    ['a lower depth', 'values', ['a'], { channels: ['values'], namespaces: [[]], depth: 0 }, false],
    ['one of several', 'values', ['a'], { channels: ['values'], namespaces: [['b'], ['a']], depth: 0 }, true],
  ])('%s', (_what, channel, namespace, filter, delivered) => {
    expect(isDelivered(event(channel, ...namespace), filter)).toBe(delivered);
  });
});
