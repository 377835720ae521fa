import { addUse, frequentCalls, innerCalls, parseRedisUse, scaleUse, scriptCalls, subtractUse } from './redis-use.js';

const info = [
  '# Stats',
  'total_net_input_bytes:1000',
  'total_net_output_bytes:500',
  '',
  '# CPU',
  'used_cpu_sys:9.0',
  'used_cpu_sys_main_thread:0.250000',
  'used_cpu_user_main_thread:1.500000',
  '',
  '# Commandstats',
  'cmdstat_evalsha:calls=4,usec=3000,usec_per_call=750.00,rejected_calls=0,failed_calls=0',
  'cmdstat_evalsha_ro:calls=1,usec=500,usec_per_call=500.00,rejected_calls=0,failed_calls=0',
  'cmdstat_hset:calls=12,usec=60,usec_per_call=5.00,rejected_calls=0,failed_calls=0',
  'cmdstat_config|get:calls=2,usec=8,usec_per_call=4.00,rejected_calls=0,failed_calls=0',
  'cmdstat_ping:calls=7,usec=7,usec_per_call=1.00,rejected_calls=0,failed_calls=0',
  'cmdstat_info:calls=3,usec=300,usec_per_call=100.00,rejected_calls=0,failed_calls=0',
].join('\r\n');

describe(parseRedisUse, () => {
  test('reads the main thread, the bytes of both directions and the calls of each command', () => {
    expect(parseRedisUse(info)).toEqual({
      cpuMs: 1_750,
      scriptMs: 3.5,
      wireBytes: 1_500,
      calls: { evalsha: 4, evalsha_ro: 1, hset: 12, 'config|get': 2, ping: 7, info: 3 },
    });
  });

  test('a field that the server does not report is 0', () => {
    expect(parseRedisUse('')).toEqual({ cpuMs: 0, scriptMs: 0, wireBytes: 0, calls: {} });
  });
});

describe('sums of what Redis did', () => {
  const use = parseRedisUse(info);

  test('what is subtracted from itself leaves nothing', () => {
    expect(subtractUse(use, use)).toEqual({ cpuMs: 0, scriptMs: 0, wireBytes: 0, calls: {} });
  });

  test('a command that only one of the two readings has counts as well', () => {
    const more = { ...use, calls: { xadd: 5 } };
    expect(subtractUse(more, use).calls).toMatchObject({ xadd: 5, hset: -12 });
    expect(addUse(more, use).calls).toMatchObject({ xadd: 5, hset: 12 });
  });

  test('scaling applies to every figure', () => {
    expect(scaleUse(use, 1 / 2)).toMatchObject({ cpuMs: 875, scriptMs: 1.75, wireBytes: 750, calls: { hset: 6 } });
  });

  test('scripts are counted apart from the commands, and neither includes PING and INFO', () => {
    expect(scriptCalls(use)).toBe(5);
    expect(innerCalls(use)).toBe(14);
    expect(frequentCalls(use, 1)).toEqual([['hset', 12]]);
  });
});
