import { talk } from '../../../text/talk.js';
import type { Choices } from './choices.js';
import styles from './composer.module.css';
import { isScripted, type RunSettings } from './run-settings.js';

interface RunSettingsBarProps {
  readonly choices: Choices;
  readonly settings: RunSettings;
  readonly onChange: (settings: RunSettings) => void;
}

/** Model, agent and switches of the next run. */
export function RunSettingsBar({ choices, settings, onChange }: RunSettingsBarProps) {
  const { models, agents } = choices;
  const chosen = models.find(({ name }) => name === settings.model) ?? models[0];
  const canThink = chosen?.supports_thinking === true;
  return (
    <>
      {models.length === 0 ? null : (
        <label className={styles['choice']}>
          {talk.model}
          <select value={chosen?.name} onChange={(event) => onChange({ ...settings, model: event.target.value })}>
            {models.map((model) => (
              <option key={model.name} value={model.name}>
                {isScripted(model) ? talk.scripted(model.display_name) : model.display_name}
              </option>
            ))}
          </select>
        </label>
      )}
      {agents.length === 0 ? null : (
        <label className={styles['choice']}>
          {talk.agentField}
          <select
            value={settings.agent ?? ''}
            onChange={({ target }) => onChange({ ...settings, agent: target.value === '' ? undefined : target.value })}
          >
            <option value="">{talk.leadAgent}</option>
            {agents.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <Switch
        label={talk.planMode}
        about={talk.planModeAbout}
        isOn={settings.isPlanMode}
        onChange={(isPlanMode) => onChange({ ...settings, isPlanMode })}
      />
      <Switch
        label={talk.subagents}
        about={talk.subagentsAbout}
        isOn={settings.hasSubagents}
        onChange={(hasSubagents) => onChange({ ...settings, hasSubagents })}
      />
      <Switch
        label={talk.deepThinking}
        about={canThink ? talk.thinkingAbout : talk.noThinking}
        isOn={canThink && settings.isThinking}
        isDisabled={!canThink}
        onChange={(isThinking) => onChange({ ...settings, isThinking })}
      />
    </>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly about: string;
  readonly isOn: boolean;
  readonly isDisabled?: boolean;
  readonly onChange: (isOn: boolean) => void;
}

const Switch = ({ label, about, isOn, isDisabled = false, onChange }: SwitchProps) => (
  <label className={styles['choice']} title={about}>
    <input type="checkbox" checked={isOn} disabled={isDisabled} onChange={(event) => onChange(event.target.checked)} />
    {label}
  </label>
);
