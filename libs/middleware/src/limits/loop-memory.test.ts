import fc from 'fast-check';
import type { CallSet } from './call-set.js';
import { clearWarnings, type Finding, type LoopLimits, LoopMemory, memoryOf, recordCalls } from './loop-memory.js';

const LIMITS: LoopLimits = {
  warn_threshold: 3,
  hard_limit: 5,
  window_size: 20,
  tool_freq_warn: 30,
  tool_freq_hard_limit: 50,
  tool_freq_overrides: {},
};
/** A set of calls of tools of one letter; its hash is its name. */
const set = (hash: string, tools = 't'): CallSet => ({
  hash: hash.padEnd(8, '_'),
  tools: [...new Set(Array.from(tools))].map((name) => ({
    name,
    key: name.padEnd(4, '_'),
    count: Array.from(tools).filter((tool) => tool === name).length,
  })),
});

/** Plays sets one after the other, each warning delivered before the next; a stop ends it. */
function play(sets: readonly CallSet[], limits: LoopLimits = LIMITS, from = memoryOf(undefined, 'run')) {
  let memory = from;
  const warnings: Finding[] = [];
  for (const next of sets) {
    const verdict = recordCalls(clearWarnings(memory), next, limits);
    memory = verdict.memory;
    warnings.push(...memory.run.queue);
    if (verdict.stop !== undefined) return { memory, warnings, stop: verdict.stop };
  }
  return { memory, warnings };
}
const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const different = (count: number, tools = 't'): CallSet[] => times(count, (at) => set(`d${at}`, tools));
const same = (count: number): CallSet[] => times(count, () => set('a'));

describe('repeated sets', () => {
  test('the third is warned of, the fourth not again, the fifth is stopped', () => {
    const repeated = (count: number): Finding => ({ kind: 'repeated', tool: 't', count });

    expect(play(same(2)).warnings).toEqual([]);
    expect(play(same(4))).toMatchObject({ warnings: [repeated(3)] });
    expect(play(same(5))).toMatchObject({ warnings: [repeated(3)], stop: repeated(5) });
  });

  test('others in between do not hide them, but those out of the window do not count', () => {
    const spread = (between: number) =>
      times(3, (at) => [set('a'), ...times(between, (i) => set(`${at}-${i}`, i % 2 === 0 ? 'u' : 'v'))]).flat();

    expect(play(spread(8)).warnings).toHaveLength(1);
    expect(play(spread(9)).warnings).toHaveLength(0);
  });

  test('a set is warned of again only after it left the window', () => {
    const limits = { ...LIMITS, window_size: 5 };
    const fallsToTwo = [...same(3), ...different(3), ...same(2)];
    const leaves = [...same(3), ...different(5), ...same(3)];

    expect(play(fallsToTwo, limits).warnings).toHaveLength(1);
    expect(play(leaves, limits).warnings).toHaveLength(2);
  });

  test('a window that is shorter than the hard limit does not hide a loop', () => {
    expect(play(same(5), { ...LIMITS, window_size: 2 })).toHaveProperty('stop');
  });

  test('a run is warned four times at most, the next run again', () => {
    const loops = times(6, (at) => times(3, () => set(`l${at}`))).flat();
    const first = play(loops, { ...LIMITS, window_size: 100 });

    expect(first.warnings).toHaveLength(4);
    expect(play([set('l5')], LIMITS, memoryOf(first.memory, 'next')).warnings).toHaveLength(1);
  });

  test('after a stop the same set counts from the beginning, and nothing else is forgotten', () => {
    const { memory } = play([set('b'), ...same(5)]);

    expect(memory.sets).toEqual([set('b').hash]);
    expect(play(same(4), LIMITS, memoryOf(memory, 'next'))).toMatchObject({ warnings: [{ count: 3 }] });
    expect(play(same(4), LIMITS, memoryOf(memory, 'next'))).not.toHaveProperty('stop');
  });
});

describe('tool frequency', () => {
  const frequent = (tool: string, count: number): Finding => ({ kind: 'frequent', tool, count });

  test('a tool is warned of at 30 of the last 50 calls, once, and stopped at 50, whatever its arguments', () => {
    expect(play(different(29)).warnings).toEqual([]);
    expect(play(different(49))).toMatchObject({ warnings: [frequent('t', 30)] });
    expect(play(different(50))).toMatchObject({ stop: frequent('t', 50) });
  });

  test('all calls of a set count, also among others', () => {
    expect(play(different(10, 'tttx')).warnings).toEqual([frequent('t', 30)]);
    expect(play(different(17, 'tttx'))).not.toHaveProperty('stop');
  });

  test('calls that are far apart do not add up', () => {
    expect(play(different(400, 'tu')).warnings).toEqual([]);
  });

  test('a tool that had calmed down is warned of again', () => {
    const calm = [...different(30), ...different(30, 'u'), ...different(30)];

    expect(play(calm).warnings.map(({ tool }) => tool)).toEqual(['t', 'u', 't']);
  });

  test('a tool may have limits of its own, also wider ones', () => {
    const limits = {
      ...LIMITS,
      tool_freq_overrides: { t: { warn: 2, hard_limit: 4 }, u: { warn: 60, hard_limit: 80 } },
    };

    expect(play(different(4), limits)).toMatchObject({ warnings: [frequent('t', 2)], stop: frequent('t', 4) });
    expect(play(different(80, 'u'), limits)).toMatchObject({ warnings: [frequent('u', 60)], stop: frequent('u', 80) });
  });

  test('after a stop the tool counts from the beginning', () => {
    const { memory } = play(different(50));

    expect(play(different(29), LIMITS, memoryOf(memory, 'next')).warnings).toEqual([]);
  });
});

test('the checks go in order: a repeated set stops before its tool is too frequent, and is warned of first', () => {
  const limits = { ...LIMITS, tool_freq_warn: 3, tool_freq_hard_limit: 5 };

  expect(play(same(5), limits)).toMatchObject({
    warnings: [{ kind: 'repeated' }, { kind: 'frequent' }],
    stop: { kind: 'repeated' },
  });
});

test('a name that a model invented is stored and reported in a short form', () => {
  const odd: CallSet = { hash: 'h', tools: [{ name: `<b>\n${'x'.repeat(100)}`, key: 'k', count: 1 }] };

  expect(play([odd, odd, odd]).warnings[0]?.tool).toMatch(/^_b__x{36}$/);
});

test('what is remembered stays below 4 KB and fits its schema, whatever is called and however it is set', () => {
  const limit = fc.integer({ min: 1, max: 4 });
  const tools = fc.array(fc.constantFrom(...Array.from('abcdefghijklmnop')), { minLength: 1, maxLength: 6 });
  const round = fc.tuple(fc.integer({ min: 0, max: 250 }), tools, fc.boolean());
  fc.assert(
    fc.property(limit, fc.array(round, { minLength: 100, maxLength: 400 }), (warn, rounds) => {
      const limits = { ...LIMITS, window_size: 200, hard_limit: 200, warn_threshold: warn, tool_freq_hard_limit: 2000 };
      let memory = memoryOf(undefined, '11111111-1111-4111-8111-111111111111');
      for (const [at, names, told] of rounds) {
        const before = told ? clearWarnings(memory) : memory;
        memory = recordCalls(before, set(`s${at}`, names.join('')), { ...limits, tool_freq_warn: warn }).memory;
        expect(JSON.stringify(memory).length).toBeLessThan(4096);
      }
      expect(LoopMemory.parse(JSON.parse(JSON.stringify(memory)))).toEqual(memory);
    }),
    { numRuns: 20 },
  );
});
