import { useRef, useState } from 'react';
import { Button } from '../../../components/button.js';
import { Failure, Loading, Notice } from '../../../components/notice.js';
import { skillTexts as texts } from '../../../text/settings-skills.js';
import styles from '../parts/parts.module.css';
import { plainText } from '../parts/plain-text.js';
import { Section } from '../parts/section.js';
import { useAction } from '../../../components/use-action.js';
import { SKILLS, uploadSkill } from './api.js';
import { archiveFault } from './skill-list.js';

export function InstallSkill() {
  const input = useRef<HTMLInputElement>(null);
  const [file, setFile] = useState<File>();
  const [installed, setInstalled] = useState<string>();
  const upload = useAction(async (archive: File) => setInstalled((await uploadSkill(archive)).skill_name), [SKILLS]);
  const fault = file === undefined ? undefined : archiveFault(file);
  const choose = (chosen: File | undefined): void => {
    setFile(chosen);
    setInstalled(undefined);
    upload.reset();
    if (chosen !== undefined && archiveFault(chosen) === undefined) upload.start(chosen);
  };
  return (
    <Section title={texts.install} about={texts.installAbout}>
      <div className={styles['row']}>
        <Button disabled={upload.isBusy} onClick={() => input.current?.click()}>
          {texts.choose}
        </Button>
        <input
          ref={input}
          type="file"
          accept=".skill"
          aria-label={texts.choose}
          hidden
          onChange={({ currentTarget }) => {
            choose(currentTarget.files?.[0]);
            currentTarget.value = '';
          }}
        />
      </div>
      {fault === undefined ? null : <Notice tone="bad">{texts.faults[fault]}</Notice>}
      {upload.isBusy ? <Loading what={texts.installing(plainText(file?.name ?? '', 200))} /> : null}
      {upload.error === null ? null : <Failure error={upload.error} />}
      {installed === undefined ? null : <Notice>{texts.installed(plainText(installed, 100))}</Notice>}
    </Section>
  );
}
