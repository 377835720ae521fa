import { useRef, useState } from 'react';
import { Button } from '../../../components/button.js';
import { Confirm } from '../../../components/dialog.js';
import { Failure } from '../../../components/notice.js';
import { memoryTexts as texts } from '../../../text/settings-memory.js';
import { downloadJson } from '../parts/download.js';
import styles from '../parts/parts.module.css';
import { plainText } from '../parts/plain-text.js';
import { Section } from '../parts/section.js';
import { useAction } from '../../../components/use-action.js';
import { exportMemory, importMemory, MEMORY } from './api.js';
import { parseMemoryFile } from './facts.js';

/** The memory as a file, to save it and to bring it back. */
export function MemoryFile({ agent }: { readonly agent: string }) {
  const input = useRef<HTMLInputElement>(null);
  const [file, setFile] = useState<File>();
  const save = useAction(
    async () => downloadJson(await exportMemory({ query: { agent } }), `memory-${agent}.json`),
    [],
  );
  const replace = useAction(
    async (chosen: File) => importMemory({ query: { agent }, body: parseMemoryFile(await chosen.text()) }),
    [MEMORY],
  );
  return (
    <Section title={texts.files} about={texts.filesAbout}>
      <div className={styles['row']}>
        <Button disabled={save.isBusy} onClick={() => save.start()}>
          {texts.export}
        </Button>
        <Button onClick={() => input.current?.click()}>{texts.import}</Button>
        <input
          ref={input}
          type="file"
          accept="application/json,.json"
          aria-label={texts.import}
          hidden
          onChange={({ currentTarget }) => {
            setFile(currentTarget.files?.[0]);
            // The same file can be chosen again.
            currentTarget.value = '';
          }}
        />
      </div>
      {save.error === null ? null : <Failure error={save.error} />}
      <Confirm
        title={texts.importTitle}
        action={texts.importAction}
        isOpen={file !== undefined}
        onClose={() => setFile(undefined)}
        onConfirm={() => (file === undefined ? Promise.resolve() : replace.run(file))}
      >
        <p>{texts.importAbout(plainText(file?.name ?? '', 200))}</p>
      </Confirm>
    </Section>
  );
}
