import { formatTime } from '../../../text/format.js';
import { memoryTexts as texts } from '../../../text/settings-memory.js';
import { Loaded } from '../parts/loaded.js';
import styles from '../parts/parts.module.css';
import { plainText } from '../parts/plain-text.js';
import { Section } from '../parts/section.js';
import { ThreadLink } from '../parts/thread-link.js';
import { type Fact, type MemoryChange, useMemoryHistory } from './api.js';

export const MemoryHistory = ({ agent }: { readonly agent: string }) => (
  <Section title={texts.history} about={texts.historyAbout}>
    <Loaded query={useMemoryHistory(agent)}>
      {({ changes }) =>
        changes.length === 0 ? (
          <p className={styles['about']}>{texts.noHistory}</p>
        ) : (
          <ul className={styles['list']}>
            {changes.map((change) => (
              <Change key={change.revision} change={change} />
            ))}
          </ul>
        )
      }
    </Loaded>
  </Section>
);

const Change = ({ change: { at, cause, added, removed, changed, sections } }: { readonly change: MemoryChange }) => (
  <li className={styles['item']}>
    <details className={styles['itemText']}>
      <summary>
        {formatTime(at)} · {texts.causes[cause.kind]}
      </summary>
      {cause.thread_id === null ? null : (
        <p>
          {texts.conversation}: <ThreadLink threadId={cause.thread_id} />
        </p>
      )}
      <Facts title={texts.added} facts={added} />
      <Facts title={texts.removed} facts={removed} />
      <Facts title={texts.changed} facts={changed} />
      {Object.entries(sections).map(([name, text]) => (
        <div key={name}>
          <h3>
            {texts.sectionBefore}: {plainText(name, 60)}
          </h3>
          <p className={styles['wrap']}>{plainText(text)}</p>
        </div>
      ))}
    </details>
  </li>
);

const Facts = ({ title, facts }: { readonly title: string; readonly facts: readonly Fact[] }) =>
  facts.length === 0 ? null : (
    <>
      <h3>{title}</h3>
      <ul>
        {facts.map(({ id, content }) => (
          <li key={id} className={styles['wrap']}>
            {plainText(content)}
          </li>
        ))}
      </ul>
    </>
  );
