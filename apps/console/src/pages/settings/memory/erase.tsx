import { useState } from 'react';
import { Button } from '../../../components/button.js';
import { memoryTexts as texts } from '../../../text/settings-memory.js';
import { settings } from '../../../text/settings.js';
import styles from '../parts/parts.module.css';
import { Section } from '../parts/section.js';
import { TypedConfirm } from '../parts/typed-confirm.js';
import { useAction } from '../../../components/use-action.js';
import { clearMemory, eraseMemories, MEMORY } from './api.js';

export function EraseMemory({ agent }: { readonly agent: string }) {
  const [asked, setAsked] = useState<'clear' | 'erase'>();
  const clear = useAction(() => clearMemory({ query: { agent } }), [MEMORY]);
  const erase = useAction(() => eraseMemories({}), [MEMORY]);
  const close = (): void => setAsked(undefined);
  return (
    <Section title={texts.erase}>
      <div className={styles['row']}>
        <Button look="danger" onClick={() => setAsked('clear')}>
          {texts.clear}
        </Button>
        <Button look="danger" onClick={() => setAsked('erase')}>
          {texts.eraseAll}
        </Button>
      </div>
      {asked === 'clear' ? (
        <TypedConfirm
          title={texts.clearTitle}
          action={settings.delete}
          phrase={texts.clearPhrase}
          onClose={close}
          onConfirm={() => clear.run()}
        >
          {texts.clearAbout}
        </TypedConfirm>
      ) : null}
      {asked === 'erase' ? (
        <TypedConfirm
          title={texts.eraseTitle}
          action={texts.eraseAction}
          phrase={texts.erasePhrase}
          onClose={close}
          onConfirm={() => erase.run()}
        >
          {texts.eraseAbout}
        </TypedConfirm>
      ) : null}
    </Section>
  );
}
