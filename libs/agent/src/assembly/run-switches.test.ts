import type { RunContextValues } from '@caribou/contracts';
import { switchesOf } from './run-switches.js';

const config = {
  subagents: { enabled: true, max_concurrent: 3, max_total_per_run: 6 },
  clarification: { enabled: true },
};
const of = (context: RunContextValues, over: Partial<typeof config> = {}) =>
  switchesOf(context, { ...config, ...over }, { supportsVision: false });

describe(switchesOf, () => {
  test('without switches everything optional is off and limits are those of the configuration', () => {
    expect(of({})).toEqual({
      vision: false,
      planMode: false,
      subagents: false,
      maxConcurrentSubagents: 3,
      maxTotalSubagents: 6,
      clarification: true,
    });
    expect(switchesOf({}, config, { supportsVision: true }).vision).toBe(true);
  });

  test('a request switches plan mode and subagents on', () => {
    expect(of({ is_plan_mode: true, subagent_enabled: true })).toMatchObject({ planMode: true, subagents: true });
  });

  test('a configuration without subagents has none, whatever a request asks', () => {
    const subagents = { ...config.subagents, enabled: false };
    expect(of({ subagent_enabled: true }, { subagents }).subagents).toBe(false);
  });

  test.each([
    [0, 1],
    [2.7, 2],
    [9, 4],
    [-3, 1],
  ])('%d tasks at once are clamped to %d', (asked, given) => {
    expect(of({ max_concurrent_subagents: asked }).maxConcurrentSubagents).toBe(given);
  });

  test('tasks of a run are clamped to 1 to 50', () => {
    const of51 = [0, 20, 51].map((asked) => of({ max_total_subagents: asked }).maxTotalSubagents);
    expect(of51).toEqual([1, 20, 50]);
  });

  test('a run without a person to ask, or a configuration without questions, has no tool to ask with', () => {
    expect(of({ non_interactive: true }).clarification).toBe(false);
    expect(of({}, { clarification: { enabled: false } }).clarification).toBe(false);
    expect(of({ disable_clarification: true }).clarification).toBe(true);
  });
});
