import { useState } from 'react';
import { Notice } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { memoryTexts as texts } from '../../../text/settings-memory.js';
import { useAgents } from '../agents/api.js';
import { Field } from '../parts/field.js';
import { Loaded } from '../parts/loaded.js';
import { useMemoryStatus } from './api.js';
import { EraseMemory } from './erase.js';
import { FactList } from './fact-list.js';
import { OWN_AGENT } from './facts.js';
import { MemoryFile } from './file.js';
import { MemoryHistory } from './history.js';
import { Reading, Summaries } from './status.js';

/** What is remembered of the person, of one agent at a time. */
export function MemoryPage() {
  const [agent, setAgent] = useState(OWN_AGENT);
  const status = useMemoryStatus(agent);
  const agents = useAgents();
  const names = [...(status.data?.agents ?? []), ...(agents.data?.agents ?? []).map(({ name }) => name)];
  const others = [...new Set(names)].filter((name) => name !== OWN_AGENT).sort();
  return (
    <Page title={texts.title} about={texts.about}>
      <Field label={texts.agent}>
        <select value={agent} onChange={(event) => setAgent(event.currentTarget.value)}>
          <option value={OWN_AGENT}>{texts.ownAgent}</option>
          {others.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </Field>
      <Loaded query={status}>
        {(read) => (
          <>
            {read.config.enabled ? null : <Notice tone="warn">{texts.off}</Notice>}
            <FactList key={agent} agent={agent} facts={read.data.facts} />
            <Summaries memory={read.data} />
            <Reading status={read} />
            <MemoryHistory agent={agent} />
            <MemoryFile agent={agent} />
            <EraseMemory agent={agent} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
