import fc from 'fast-check';
import { Command } from 'ioredis';
import { ScriptCommand } from './script-command.js';
import { loadScript } from './scripts.js';

const script = loadScript('events/append');

describe(ScriptCommand, () => {
  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('a', '\r\n', 'é', '雪', '\ud83d\ude00', '\ud83d') }),
    fc.integer(),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  );

  test('is encoded to the same bytes as a command of the client', () => {
    fc.assert(
      fc.property(fc.array(value), fc.boolean(), (values, isLoaded) => {
        const [name, first] = isLoaded ? ['EVALSHA', script.sha1] : ['EVAL', script.source];
        const own = new ScriptCommand({ script, values, isLoaded }).toWritable();
        const expected = new Command(name, [first, ...values]).toWritable({});
        expect(Buffer.from(own).equals(Buffer.from(expected))).toBe(true);
      }),
    );
  });
});
