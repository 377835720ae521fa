import { useState } from 'react';
import { Link } from 'react-router';
import { Button } from '../../../components/button.js';
import { DataTable } from '../../../components/data-table.js';
import { Confirm } from '../../../components/dialog.js';
import { Page } from '../../../components/page.js';
import { formatTime } from '../../../text/format.js';
import { settings } from '../../../text/settings.js';
import { agentTexts as texts } from '../../../text/settings-agents.js';
import { Loaded } from '../parts/loaded.js';
import styles from '../parts/parts.module.css';
import { plainText } from '../parts/plain-text.js';
import { useAction } from '../../../components/use-action.js';
import { AGENTS, removeAgent, useAgents } from './api.js';

export function AgentsPage() {
  const [leaving, setLeaving] = useState<string>();
  const remove = useAction((agent_name: string) => removeAgent({ params: { agent_name } }), [AGENTS]);
  return (
    <Page title={texts.title} about={texts.about} actions={<Link to="/settings/agents/new">{texts.create}</Link>}>
      <Loaded query={useAgents()}>
        {({ agents }) => (
          <DataTable
            caption={texts.list}
            empty={texts.empty}
            rows={agents}
            keyOf={({ name }) => name}
            columns={[
              { head: texts.name, cell: ({ name }) => <Link to={`/settings/agents/${name}`}>{name}</Link> },
              {
                head: texts.description,
                cell: ({ description }) => <span className={styles['wrap']}>{plainText(description, 300)}</span>,
              },
              { head: texts.model, cell: ({ model }) => model ?? texts.defaultModel },
              { head: texts.changed, cell: ({ updated_at }) => formatTime(updated_at) },
              {
                head: texts.chain,
                cell: ({ name }) => <Link to={`/settings/agents/${name}/chain`}>{texts.chain}</Link>,
              },
              {
                head: settings.delete,
                cell: ({ name }) => (
                  <Button look="danger" onClick={() => setLeaving(name)}>
                    {settings.delete}
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <Confirm
        title={texts.deleteTitle(leaving ?? '')}
        action={settings.delete}
        isOpen={leaving !== undefined}
        onClose={() => setLeaving(undefined)}
        onConfirm={() => (leaving === undefined ? Promise.resolve() : remove.run(leaving))}
      >
        {texts.deleteAbout}
      </Confirm>
    </Page>
  );
}
