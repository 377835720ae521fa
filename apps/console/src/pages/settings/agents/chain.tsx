import { useParams } from 'react-router';
import { Badge } from '../../../components/badge.js';
import { DataTable } from '../../../components/data-table.js';
import { Page } from '../../../components/page.js';
import { agentTexts as texts } from '../../../text/settings-agents.js';
import { Loaded } from '../parts/loaded.js';
import styles from '../parts/parts.module.css';
import { Section } from '../parts/section.js';
import { type Chain, useChain } from './api.js';

/** The middlewares that the runs of an agent get, each with its reason. */
export function ChainPage() {
  const { name = '' } = useParams();
  return (
    <Page title={texts.chainOf(name)} about={texts.chainAbout}>
      <Loaded query={useChain(name)}>
        {({ middlewares, subagent_middlewares }) => (
          <>
            <Positions title={texts.chain} positions={middlewares} />
            <Positions title={texts.subagentChain} positions={subagent_middlewares} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

const Positions = ({ title, positions }: { readonly title: string; readonly positions: Chain['middlewares'] }) => (
  <Section title={title}>
    <DataTable
      caption={title}
      empty={texts.noMiddlewares}
      rows={positions}
      keyOf={({ name }) => name}
      columns={[
        { head: texts.middleware, cell: ({ name }) => <code>{name}</code> },
        {
          head: texts.state,
          cell: ({ active }) => (
            <Badge tone={active ? 'good' : 'neutral'}>{active ? texts.active : texts.inactive}</Badge>
          ),
        },
        {
          head: texts.reason,
          cell: ({ reason, absent }) => <span className={styles['wrap']}>{absent ?? reason}</span>,
        },
      ]}
    />
  </Section>
);
