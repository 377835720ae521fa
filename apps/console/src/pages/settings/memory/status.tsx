import { DataTable } from '../../../components/data-table.js';
import { Notice } from '../../../components/notice.js';
import { formatBytes, formatTime } from '../../../text/format.js';
import { memoryTexts as texts } from '../../../text/settings-memory.js';
import styles from '../parts/parts.module.css';
import { plainText } from '../parts/plain-text.js';
import { Section } from '../parts/section.js';
import { ThreadLink } from '../parts/thread-link.js';
import type { Memory, MemoryStatus } from './api.js';
import { summariesOf } from './facts.js';

export function Summaries({ memory }: { readonly memory: Memory }) {
  const summaries = summariesOf(memory);
  return (
    <Section title={texts.summaries} about={summaries.length === 0 ? texts.noSummaries : texts.summariesAbout}>
      {summaries.map(({ name, text, updatedAt }) => (
        <div key={name}>
          <h3>{texts.summaryNames[name]}</h3>
          <p className={styles['wrap']}>{plainText(text)}</p>
          {updatedAt === '' ? null : <p className={styles['hint']}>{texts.updated(formatTime(updatedAt))}</p>}
        </div>
      ))}
    </Section>
  );
}

/** What waits to be read, and what could not be. */
export const Reading = ({ status: { extraction, quarantined } }: { readonly status: MemoryStatus }) => (
  <Section title={texts.status} about={texts.waiting(extraction.due, extraction.running)}>
    <DataTable
      caption={texts.givenUp}
      empty={texts.givenUpEmpty}
      rows={extraction.given_up}
      keyOf={({ thread_id, agent }) => `${thread_id} ${agent}`}
      columns={[
        { head: texts.conversation, cell: ({ thread_id }) => <ThreadLink threadId={thread_id} /> },
        { head: texts.agentName, cell: ({ agent }) => agent },
        { head: texts.since, cell: ({ at }) => formatTime(at) },
        { head: texts.reason, cell: ({ reason }) => <span className={styles['wrap']}>{plainText(reason, 500)}</span> },
      ]}
    />
    {quarantined.length === 0 ? null : (
      <Notice tone="warn">
        <h3>{texts.quarantined}</h3>
        <p>{texts.quarantinedAbout}</p>
        <ul>
          {quarantined.map(({ agent, at, reason, bytes }) => (
            <li key={`${agent} ${at}`}>
              {agent} · {formatTime(at)} · {formatBytes(bytes)} · {plainText(reason, 500)}
            </li>
          ))}
        </ul>
      </Notice>
    )}
  </Section>
);
