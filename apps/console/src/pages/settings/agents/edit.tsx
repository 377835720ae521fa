import { useState } from 'react';
import { Link, useParams } from 'react-router';
import { ApiError } from '../../../api/request.js';
import { Button } from '../../../components/button.js';
import { Failure, Notice } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { settings } from '../../../text/settings.js';
import { agentTexts as texts } from '../../../text/settings-agents.js';
import { Loaded } from '../parts/loaded.js';
import styles from '../parts/parts.module.css';
import { Unsaved } from '../parts/unsaved.js';
import { useAction } from '../../../components/use-action.js';
import { differences, faultsOf, toDraft, toFields } from './agent-draft.js';
import { AgentFields } from './agent-fields.js';
import { type Agent, getAgent, updateAgent, useAgent } from './api.js';
import { Conflict } from './conflict.js';

export function AgentPage() {
  const { name = '' } = useParams();
  return (
    <Page
      title={texts.editTitle(name)}
      actions={<Link to={`/settings/agents/${encodeURIComponent(name)}/chain`}>{texts.chain}</Link>}
    >
      <Loaded query={useAgent(name)}>{(agent) => <AgentForm key={agent.name} first={agent} />}</Loaded>
    </Page>
  );
}

function AgentForm({ first }: { readonly first: Agent }) {
  /** The version that the edits are of. */
  const [base, setBase] = useState(first);
  const [draft, setDraft] = useState(() => toDraft(first));
  /** A version that somebody else has saved. */
  const [other, setOther] = useState<Agent>();
  const save = useAction(
    async (version: number) => {
      const agent_name = first.name;
      try {
        const saved = await updateAgent({ params: { agent_name }, body: { ...toFields(draft), version } });
        setBase(saved);
        setDraft(toDraft(saved));
        setOther(undefined);
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 409) throw error;
        setOther(await getAgent({ params: { agent_name } }));
      }
    },
    [['agents', 'list']],
  );
  const isDirty = differences(draft, toDraft(base)).length > 0;
  const isFaulty = Object.keys(faultsOf(draft)).length > 0;
  const take = (agent: Agent): void => {
    setBase(agent);
    setDraft(toDraft(agent));
    setOther(undefined);
  };
  return (
    <form
      className={styles['form']}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isFaulty) save.start(base.version);
      }}
    >
      <Unsaved isDirty={isDirty} />
      <AgentFields draft={draft} onChange={setDraft} />
      {save.error === null ? null : <Failure error={save.error} />}
      {save.isDone && !isDirty && other === undefined ? <Notice>{settings.saved}</Notice> : null}
      <div className={styles['row']}>
        <Button look="primary" type="submit" disabled={save.isBusy || isFaulty || !isDirty}>
          {settings.save}
        </Button>
      </div>
      {other === undefined ? null : (
        <Conflict
          mine={draft}
          theirs={toDraft(other)}
          isBusy={save.isBusy}
          onClose={() => setOther(undefined)}
          onUseTheirs={() => take(other)}
          onUseMine={() => save.start(other.version)}
        />
      )}
    </form>
  );
}
