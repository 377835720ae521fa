import { growthByKind, kindOf } from './stored-keys.js';

const thread = '0198c0de-0000-7000-8000-000000000001';
const run = '0198c0de-0000-7000-8000-000000000002';

describe(kindOf, () => {
  test.each([
    [`caribou:thread:default:${thread}:log`, 'caribou:thread:*:*:log'],
    [`caribou:run:default:${run}`, 'caribou:run:*:*'],
    [`caribou:execution:default:${thread}:${run}:call_12`, 'caribou:execution:*:*:*:*'],
    ['caribou:memory:due', 'caribou:memory:due'],
  ])('%s is of the kind %s', (name, kind) => {
    expect(kindOf(name)).toBe(kind);
  });
});

describe(growthByKind, () => {
  test('keys that grew, came or went are added up by kind, apart by whether they have a deadline', () => {
    const log = `caribou:thread:default:${thread}:log`;
    const before = [
      { name: log, bytes: 100, expires: false },
      { name: 'caribou:pending', bytes: 70, expires: false },
      { name: 'caribou:erased', bytes: 10, expires: false },
    ];
    const after = [
      { name: log, bytes: 150, expires: false },
      { name: `caribou:thread:default:${run}:log`, bytes: 30, expires: false },
      { name: `caribou:thread:default:${run}:log`, bytes: 7, expires: true },
      { name: 'caribou:erased', bytes: 10, expires: false },
    ];

    expect(growthByKind(before, after)).toEqual([
      { kind: 'caribou:thread:*:*:log', bytes: 80, expires: false },
      { kind: 'caribou:thread:*:*:log', bytes: 7, expires: true },
      { kind: 'caribou:pending', bytes: -70, expires: false },
    ]);
  });
});
