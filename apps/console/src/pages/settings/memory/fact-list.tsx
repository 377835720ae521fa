import { useState } from 'react';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { Confirm } from '../../../components/dialog.js';
import { formatTime } from '../../../text/format.js';
import { settings } from '../../../text/settings.js';
import { memoryTexts as texts } from '../../../text/settings-memory.js';
import { Field } from '../parts/field.js';
import styles from '../parts/parts.module.css';
import { plainText } from '../parts/plain-text.js';
import { Section } from '../parts/section.js';
import { ThreadLink } from '../parts/thread-link.js';
import { useAction } from '../../../components/use-action.js';
import { type Fact, MEMORY, removeFact } from './api.js';
import { FactForm } from './fact-form.js';
import { CATEGORIES, type FactFilter, filterFacts, threadOf } from './facts.js';

interface FactListProps {
  readonly agent: string;
  readonly facts: readonly Fact[];
}

/** What the person is doing with a fact. */
type Doing = { readonly kind: 'add' } | { readonly kind: 'edit' | 'delete'; readonly fact: Fact };

export function FactList({ agent, facts }: FactListProps) {
  const [filter, setFilter] = useState<FactFilter>({ category: '', text: '' });
  const [doing, setDoing] = useState<Doing>();
  const remove = useAction((fact_id: string) => removeFact({ params: { fact_id }, query: { agent } }), [MEMORY]);
  const shown = filterFacts(facts, filter);
  const close = (): void => setDoing(undefined);
  return (
    <Section
      title={texts.facts}
      about={texts.factsAbout(shown.length, facts.length)}
      actions={<Button onClick={() => setDoing({ kind: 'add' })}>{texts.newFact}</Button>}
    >
      <FactFilters filter={filter} onChange={setFilter} />
      <ul className={styles['list']}>
        {shown.map((fact) => (
          <FactItem key={fact.id} fact={fact} onDo={(kind) => setDoing({ kind, fact })} />
        ))}
      </ul>
      {shown.length > 0 ? null : <p className={styles['about']}>{texts.noFacts}</p>}
      {doing === undefined || doing.kind === 'delete' ? null : (
        <FactForm agent={agent} fact={doing.kind === 'edit' ? doing.fact : undefined} onClose={close} />
      )}
      <Confirm
        title={texts.deleteFact}
        action={settings.delete}
        isOpen={doing?.kind === 'delete'}
        onClose={close}
        onConfirm={() => (doing?.kind === 'delete' ? remove.run(doing.fact.id) : Promise.resolve())}
      >
        <p className={styles['wrap']}>{doing?.kind === 'delete' ? plainText(doing.fact.content) : null}</p>
        <p className={styles['about']}>{texts.deleteFactAbout}</p>
      </Confirm>
    </Section>
  );
}

const FactFilters = ({
  filter,
  onChange,
}: {
  readonly filter: FactFilter;
  readonly onChange: (filter: FactFilter) => void;
}) => (
  <div className={styles['filters']}>
    <Field label={texts.category}>
      <select
        value={filter.category}
        onChange={({ currentTarget }) =>
          onChange({ ...filter, category: CATEGORIES.find((one) => one === currentTarget.value) ?? '' })
        }
      >
        <option value="">{texts.allCategories}</option>
        {CATEGORIES.map((category) => (
          <option key={category} value={category}>
            {texts.categories[category]}
          </option>
        ))}
      </select>
    </Field>
    <Field label={texts.search}>
      <input
        type="search"
        value={filter.text}
        onChange={({ currentTarget }) => onChange({ ...filter, text: currentTarget.value })}
      />
    </Field>
  </div>
);

const FactItem = ({ fact, onDo }: { readonly fact: Fact; readonly onDo: (kind: 'edit' | 'delete') => void }) => (
  <li className={styles['item']}>
    <div className={styles['itemText']}>
      <p className={styles['wrap']}>{plainText(fact.content)}</p>
      <div className={styles['row']}>
        <Badge tone={fact.category === 'correction' ? 'warn' : 'neutral'}>{texts.categories[fact.category]}</Badge>
        <span className={styles['hint']}>
          {texts.confidence} {fact.confidence} · {formatTime(fact.createdAt)} ·{' '}
          <ThreadLink threadId={threadOf(fact)} label={texts.fromThread} otherwise={texts.entered} />
        </span>
      </div>
    </div>
    <div className={styles['row']}>
      <Button onClick={() => onDo('edit')}>{settings.edit}</Button>
      <Button look="danger" onClick={() => onDo('delete')}>
        {settings.delete}
      </Button>
    </div>
  </li>
);
