import { formatCount } from '../../../text/format.js';
import { settings } from '../../../text/settings.js';
import { agentTexts as texts } from '../../../text/settings-agents.js';
import { Check, Field } from '../parts/field.js';
import styles from '../parts/parts.module.css';
import { useSkills } from '../skills/api.js';
import { type AgentDraft, type DraftFault, EFFORTS, faultsOf } from './agent-draft.js';
import { useModels } from './api.js';

interface AgentFieldsProps {
  readonly draft: AgentDraft;
  readonly onChange: (draft: AgentDraft) => void;
}

const faultText = (fault: DraftFault | undefined): string | undefined =>
  fault === undefined ? undefined : texts.faults[fault];

/** All fields of an agent but its name. */
export function AgentFields({ draft, onChange }: AgentFieldsProps) {
  const faults = faultsOf(draft);
  return (
    <>
      <Field label={texts.description} hint={texts.descriptionHint}>
        <input
          maxLength={1_000}
          value={draft.description}
          onChange={({ currentTarget }) => onChange({ ...draft, description: currentTarget.value })}
        />
      </Field>
      <div className={styles['columns']}>
        <ModelChoice draft={draft} onChange={onChange} />
        <Field label={texts.temperature} hint={texts.temperatureHint} fault={faultText(faults.temperature)}>
          <input
            inputMode="decimal"
            value={draft.temperature}
            onChange={({ currentTarget }) => onChange({ ...draft, temperature: currentTarget.value })}
          />
        </Field>
        <Field label={texts.maxTokens} hint={texts.maxTokensHint} fault={faultText(faults.maxTokens)}>
          <input
            inputMode="numeric"
            value={draft.maxTokens}
            onChange={({ currentTarget }) => onChange({ ...draft, maxTokens: currentTarget.value })}
          />
        </Field>
        <ThinkingChoice draft={draft} onChange={onChange} />
      </div>
      <Limits draft={draft} onChange={onChange} />
      <Field label={texts.approvals} hint={texts.approvalsHint} fault={faultText(faults.approvals)} isCode>
        <textarea
          spellCheck={false}
          value={draft.approvals}
          onChange={({ currentTarget }) => onChange({ ...draft, approvals: currentTarget.value })}
        />
      </Field>
      <Field label={texts.soul} hint={texts.soulHint(formatCount(draft.soul.length))} isCode>
        <textarea
          maxLength={32_000}
          value={draft.soul}
          onChange={({ currentTarget }) => onChange({ ...draft, soul: currentTarget.value })}
        />
      </Field>
    </>
  );
}

function ModelChoice({ draft, onChange }: AgentFieldsProps) {
  const models = useModels().data?.models ?? [];
  const isGone = draft.model !== '' && models.every(({ name }) => name !== draft.model);
  return (
    <Field label={texts.model}>
      <select value={draft.model} onChange={({ currentTarget }) => onChange({ ...draft, model: currentTarget.value })}>
        <option value="">{texts.defaultModel}</option>
        {isGone ? <option value={draft.model}>{texts.modelGone(draft.model)}</option> : null}
        {models.map(({ name, display_name }) => (
          <option key={name} value={name}>
            {display_name}
          </option>
        ))}
      </select>
    </Field>
  );
}

const ThinkingChoice = ({ draft, onChange }: AgentFieldsProps) => (
  <>
    <Field label={texts.thinking}>
      <select
        value={draft.thinking}
        onChange={({ currentTarget }) =>
          onChange({ ...draft, thinking: (['on', 'off'] as const).find((one) => one === currentTarget.value) ?? '' })
        }
      >
        <option value="">{texts.asRun}</option>
        <option value="on">{settings.on}</option>
        <option value="off">{settings.off}</option>
      </select>
    </Field>
    <Field label={texts.effort}>
      <select
        value={draft.effort}
        onChange={({ currentTarget }) =>
          onChange({ ...draft, effort: EFFORTS.find((one) => one === currentTarget.value) ?? '' })
        }
      >
        <option value="">{texts.asRun}</option>
        {EFFORTS.map((effort) => (
          <option key={effort} value={effort}>
            {texts.efforts[effort]}
          </option>
        ))}
      </select>
    </Field>
  </>
);

/** Which tools and skills the agent has. */
function Limits({ draft, onChange }: AgentFieldsProps) {
  const known = useSkills().data?.skills ?? [];
  const names = [...new Set([...known.map(({ name }) => name), ...draft.skills])].sort();
  const choose = (name: string, isOn: boolean): void =>
    onChange({ ...draft, skills: isOn ? [...draft.skills, name] : draft.skills.filter((one) => one !== name) });
  return (
    <div className={styles['columns']}>
      <div className={styles['form']}>
        <Check
          label={texts.limitsToolGroups}
          isOn={draft.limitsToolGroups}
          onChange={(limitsToolGroups) => onChange({ ...draft, limitsToolGroups })}
        />
        {draft.limitsToolGroups ? (
          <Field label={texts.toolGroups} hint={texts.toolGroupsHint}>
            <input
              value={draft.toolGroups}
              onChange={({ currentTarget }) => onChange({ ...draft, toolGroups: currentTarget.value })}
            />
          </Field>
        ) : null}
      </div>
      <div className={styles['form']}>
        <Check
          label={texts.limitsSkills}
          isOn={draft.limitsSkills}
          onChange={(limitsSkills) => onChange({ ...draft, limitsSkills })}
        />
        {draft.limitsSkills ? (
          <fieldset>
            <legend>{texts.skills}</legend>
            {names.map((name) => (
              <Check
                key={name}
                label={name}
                isOn={draft.skills.includes(name)}
                onChange={(isOn) => choose(name, isOn)}
              />
            ))}
          </fieldset>
        ) : null}
      </div>
    </div>
  );
}
