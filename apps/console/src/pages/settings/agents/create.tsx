import { useDeferredValue, useState } from 'react';
import { Navigate } from 'react-router';
import { Button } from '../../../components/button.js';
import { Failure } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { agentTexts as texts } from '../../../text/settings-agents.js';
import { Field } from '../parts/field.js';
import styles from '../parts/parts.module.css';
import { Unsaved } from '../parts/unsaved.js';
import { useAction } from '../../../components/use-action.js';
import { differences, EMPTY_DRAFT, faultsOf, isAgentName, toFields } from './agent-draft.js';
import { AgentFields } from './agent-fields.js';
import { AGENTS, createAgent, useNameCheck } from './api.js';

export function NewAgentPage() {
  const [name, setName] = useState('');
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const [created, setCreated] = useState<string>();
  const check = useNameOf(name);
  const create = useAction(async () => {
    setCreated((await createAgent({ body: { ...toFields(draft), name } })).name);
  }, [AGENTS]);
  const isFaulty = check.fault !== undefined || Object.keys(faultsOf(draft)).length > 0;
  // The form and its warning about unsaved edits are gone before the page changes.
  if (created !== undefined) return <Navigate to={`/settings/agents/${created}`} replace />;
  return (
    <Page title={texts.create}>
      <Unsaved isDirty={name !== '' || differences(draft, EMPTY_DRAFT).length > 0} />
      <form
        className={styles['form']}
        onSubmit={(event) => {
          event.preventDefault();
          if (!isFaulty) create.start();
        }}
      >
        <Field label={texts.name} hint={check.hint} fault={check.fault}>
          <input
            required
            maxLength={64}
            autoComplete="off"
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
        </Field>
        <AgentFields draft={draft} onChange={setDraft} />
        {create.error === null ? null : <Failure error={create.error} />}
        <div className={styles['row']}>
          <Button look="primary" type="submit" disabled={create.isBusy || isFaulty}>
            {texts.createAction}
          </Button>
        </div>
      </form>
    </Page>
  );
}

/** What is known about a name while it is typed. */
function useNameOf(name: string): { readonly hint: string; readonly fault: string | undefined } {
  const checked = useDeferredValue(name);
  const check = useNameCheck(checked, isAgentName(checked));
  if (name === '') return { hint: texts.nameHint, fault: undefined };
  if (!isAgentName(name)) return { hint: texts.nameHint, fault: texts.nameImpossible };
  if (check.data === undefined || checked !== name) return { hint: texts.nameHint, fault: undefined };
  if (!check.data.available) return { hint: texts.nameHint, fault: texts.nameTaken };
  return { hint: texts.nameFree(check.data.name), fault: undefined };
}
