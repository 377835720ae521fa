import { useState } from 'react';
import { Button } from '../../../components/button.js';
import { Dialog } from '../../../components/dialog.js';
import { Failure } from '../../../components/notice.js';
import { settings } from '../../../text/settings.js';
import { memoryTexts as texts } from '../../../text/settings-memory.js';
import { shared } from '../../../text/shared.js';
import { Field } from '../parts/field.js';
import styles from '../parts/parts.module.css';
import { useAction } from '../../../components/use-action.js';
import { addFact, type Category, editFact, type Fact, MEMORY } from './api.js';
import { CATEGORIES } from './facts.js';

interface FactFormProps {
  readonly agent: string;
  /** The fact that is edited; absent for a new one. */
  readonly fact: Fact | undefined;
  readonly onClose: () => void;
}

interface Draft {
  readonly content: string;
  readonly category: Category;
  readonly confidence: number;
}

const MAX_CHARS = 1_000;

export function FactForm({ agent, fact, onClose }: FactFormProps) {
  const [draft, setDraft] = useState<Draft>(fact ?? { content: '', category: 'context', confidence: 0.9 });
  const save = useAction(
    async ({ content, category, confidence }: Draft) => {
      const body = { content, category, confidence };
      if (fact === undefined) await addFact({ query: { agent }, body });
      else await editFact({ params: { fact_id: fact.id }, query: { agent }, body });
      onClose();
    },
    [MEMORY],
  );
  return (
    <Dialog title={fact === undefined ? texts.newFact : texts.editFact} isOpen onClose={onClose}>
      <form
        className={styles['form']}
        onSubmit={(event) => {
          event.preventDefault();
          save.start(draft);
        }}
      >
        <Field label={texts.fact} hint={texts.factHint}>
          <textarea
            required
            maxLength={MAX_CHARS}
            value={draft.content}
            onChange={({ currentTarget }) => setDraft({ ...draft, content: currentTarget.value })}
          />
        </Field>
        <Field label={texts.category}>
          <select
            value={draft.category}
            onChange={({ currentTarget }) =>
              setDraft({ ...draft, category: CATEGORIES.find((one) => one === currentTarget.value) ?? draft.category })
            }
          >
            {CATEGORIES.map((category) => (
              <option key={category} value={category}>
                {texts.categories[category]}
              </option>
            ))}
          </select>
        </Field>
        <Field label={texts.confidence} hint={texts.confidenceHint}>
          <input
            type="number"
            min={0}
            max={1}
            step="any"
            required
            value={Number.isNaN(draft.confidence) ? '' : draft.confidence}
            onChange={({ currentTarget }) => setDraft({ ...draft, confidence: currentTarget.valueAsNumber })}
          />
        </Field>
        {save.error === null ? null : <Failure error={save.error} />}
        <div className={styles['row']}>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button look="primary" type="submit" disabled={save.isBusy}>
            {settings.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
