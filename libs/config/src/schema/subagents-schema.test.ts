import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../load/load-config.js';
import { BUILT_IN_SUBAGENTS, subagentFaults, SubagentsFile } from './subagents-schema.js';

const parsed = (section: unknown = {}): SubagentsFile => SubagentsFile.parse(section);
const models = new Set(['m-1', 'm-2']);
const custom = (over: Record<string, unknown> = {}) => ({ description: 'd', system_prompt: 's', ...over });

/** Paths of what is wrong with the section. */
function wrong(section: unknown): readonly string[] {
  const { error } = SubagentsFile.safeParse(section);
  return (error?.issues ?? []).map(({ path }) => path.join('.'));
}

describe('SubagentsFile', () => {
  test('an empty section has every limit set', () => {
    expect(parsed()).toEqual({
      enabled: true,
      max_concurrent: 3,
      max_total_per_run: 6,
      timeout_seconds: 900,
      max_turns: null,
      token_budget: { enabled: true, max_tokens: 1_000_000, warn_threshold: 0.7 },
      slots: 16,
      max_running: 256,
      max_running_per_user: 32,
      max_pending: 1_000,
      max_pending_per_user: 200,
      max_queue_seconds: 1_800,
      history_seconds: 86_400,
      agents: {},
      custom_agents: {},
    });
  });

  test('a kind of your own has the turns, model and forbidden tools of one unless it says otherwise', () => {
    const { custom_agents: kinds } = parsed({ custom_agents: { poet: custom() } });

    expect(kinds['poet']).toEqual({
      description: 'd',
      system_prompt: 's',
      model: 'inherit',
      max_turns: 50,
      disallowed_tools: ['task', 'ask_clarification', 'present_files'],
    });
  });

  test('a partial token budget has defaults for the rest', () => {
    expect(parsed({ token_budget: { max_tokens: 5 } }).token_budget).toEqual({
      enabled: true,
      max_tokens: 5,
      warn_threshold: 0.7,
    });
  });

  test('a change of one kind leaves other settings absent', () => {
    const { agents } = parsed({ agents: { bash: { token_budget: { max_tokens: 5 } } } });

    expect(agents).toEqual({ bash: { token_budget: { max_tokens: 5 } } });
  });

  test.each([
    ['max_concurrent', 0],
    ['max_concurrent', 5],
    ['max_total_per_run', 51],
    ['timeout_seconds', 0],
    ['timeout_seconds', 86_401],
    ['max_turns', 0],
    ['max_turns', 1_001],
    ['slots', 0],
    ['max_running', 0],
    ['max_running_per_user', 0],
    ['max_pending', 10_001],
    ['max_pending_per_user', 0],
    ['max_queue_seconds', 86_401],
    ['history_seconds', 59],
  ])('%s may not be %d', (key, value) => {
    expect(wrong({ [key]: value })).toEqual([key]);
  });

  test.each([
    [{ agents: { bash: { timeout_seconds: 1.5 } } }, 'agents.bash.timeout_seconds'],
    [{ token_budget: { warn_threshold: 0 } }, 'token_budget.warn_threshold'],
    [{ custom_agents: { poet: { description: 'd' } } }, 'custom_agents.poet.system_prompt'],
    [{ custom_agents: { poet: custom({ tools: [''] }) } }, 'custom_agents.poet.tools.0'],
    [{ custom_agents: { 'a poet': custom() } }, 'custom_agents.a poet'],
  ])('%j is reported with the path of the fault', (section, path) => {
    expect(wrong(section)).toEqual([path]);
  });
});

describe(subagentFaults, () => {
  test('existing models, built-in kinds and `inherit` are valid', () => {
    const section = parsed({
      agents: { bash: { model: 'm-1' }, 'general-purpose': { max_turns: 3 }, poet: { model: 'inherit' } },
      custom_agents: { poet: custom({ model: 'm-2' }), critic: custom() },
    });

    expect(subagentFaults(section, models)).toEqual([]);
  });

  test('all faults are reported at once, each with its key', () => {
    const section = parsed({
      agents: { poe: { max_turns: 3 }, bash: { model: 'm-3' } },
      custom_agents: { bash: custom(), poet: custom({ model: 'm-4' }) },
    });

    expect(subagentFaults(section, models)).toEqual([
      'subagents.agents.poe: there is no such subagent',
      'subagents.agents.bash.model: no model has this name',
      "subagents.custom_agents.bash: this name is a built-in subagent's",
      'subagents.custom_agents.poet.model: no model has this name',
    ]);
  });

  test('a property of every object is not the name of a subagent', () => {
    expect(subagentFaults(parsed({ agents: { constructor: { max_turns: 3 } } }), models)).toEqual([
      'subagents.agents.constructor: there is no such subagent',
    ]);
  });

  test.each(BUILT_IN_SUBAGENTS)('%s can be changed and cannot be replaced', (name) => {
    expect(subagentFaults(parsed({ agents: { [name]: {} } }), models)).toEqual([]);
    expect(subagentFaults(parsed({ custom_agents: { [name]: custom() } }), models)).toHaveLength(1);
  });
});

describe('config.yaml', () => {
  test('does not load with faults in the section, and warns about unused keys', () => {
    const folder = mkdtempSync(join(tmpdir(), 'caribou-config-'));
    const load = (agents: string) => {
      writeFileSync(join(folder, 'config.yaml'), `subagents: {agents: ${agents}}`);
      return loadConfig({ OPENAI_API_KEY: 'k', OPENAI_MODEL: 'm-1' }, folder);
    };

    expect(() => load('{bash: {model: m-2}, poe: {}}')).toThrow(
      /subagents\.agents\.bash\.model: no model[^]*subagents\.agents\.poe: there is no such subagent/,
    );
    expect(load('{bash: {model: m-1, skills: [a]}}').warnings).toEqual([]);
    rmSync(folder, { recursive: true });
  });
});
