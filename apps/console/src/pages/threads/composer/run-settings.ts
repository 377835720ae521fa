import type { ModelListReply } from '@caribou/contracts';

/** What a person has chosen for the runs of this browser. */
export interface RunSettings {
  readonly model: string | undefined;
  /** A custom agent; undefined: the lead agent. */
  readonly agent: string | undefined;
  readonly isPlanMode: boolean;
  readonly hasSubagents: boolean;
  readonly isThinking: boolean;
}

export const DEFAULT_SETTINGS: RunSettings = {
  model: undefined,
  agent: undefined,
  isPlanMode: false,
  hasSubagents: false,
  isThinking: true,
};

const ITEM = 'caribou.run-settings';

/** The settings that were chosen last; a stored text of another form counts as none. */
export function readSettings(storage: Pick<Storage, 'getItem'>): RunSettings {
  const stored = parsed(storage.getItem(ITEM));
  const flag = (name: keyof RunSettings, otherwise: boolean): boolean =>
    typeof stored[name] === 'boolean' ? stored[name] : otherwise;
  const text = (name: keyof RunSettings): string | undefined =>
    typeof stored[name] === 'string' ? stored[name] : undefined;
  return {
    model: text('model'),
    agent: text('agent'),
    isPlanMode: flag('isPlanMode', DEFAULT_SETTINGS.isPlanMode),
    hasSubagents: flag('hasSubagents', DEFAULT_SETTINGS.hasSubagents),
    isThinking: flag('isThinking', DEFAULT_SETTINGS.isThinking),
  };
}

export const writeSettings = (storage: Pick<Storage, 'setItem'>, settings: RunSettings): void =>
  storage.setItem(ITEM, JSON.stringify(settings));

function parsed(text: string | null): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

/** The `context` of a run. A model or agent that is not there any more is left out, so that the run is not refused. */
export function contextOf(
  settings: RunSettings,
  known: { readonly models: ModelListReply['models']; readonly agents: readonly string[] },
): Record<string, unknown> {
  const model = known.models.find(({ name }) => name === settings.model) ?? known.models[0];
  const isNamed = model !== undefined && model.name === settings.model;
  return {
    ...(isNamed ? { model_name: model.name } : {}),
    ...(settings.agent !== undefined && known.agents.includes(settings.agent) ? { agent_name: settings.agent } : {}),
    is_plan_mode: settings.isPlanMode,
    subagent_enabled: settings.hasSubagents,
    ...(model?.supports_thinking === true ? { thinking_enabled: settings.isThinking } : {}),
  };
}

/** Whether a model is the scripted one that is used where none is configured. */
export const isScripted = ({ model }: { readonly model: string }): boolean => model === 'caribou-demo';
