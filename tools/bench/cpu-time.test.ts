import { addCpu } from './cpu-time.js';

describe(addCpu, () => {
  test('adds by process, a process that one side lacks counts as 0 there', () => {
    expect(addCpu({ gateway: 3, redis: 1 }, { gateway: 2, runner: 4 }, 0.5)).toEqual({
      gateway: 4,
      redis: 1,
      runner: 2,
    });
  });

  test('what is subtracted from itself leaves nothing', () => {
    expect(addCpu({ gateway: 3 }, { gateway: 3 }, -1)).toEqual({ gateway: 0 });
  });
});
