import { useState } from 'react';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { Confirm } from '../../../components/dialog.js';
import { Failure } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { settings } from '../../../text/settings.js';
import { skillTexts as texts } from '../../../text/settings-skills.js';
import { Check } from '../parts/field.js';
import { Loaded } from '../parts/loaded.js';
import styles from '../parts/parts.module.css';
import { plainText } from '../parts/plain-text.js';
import { Section } from '../parts/section.js';
import { useAction } from '../../../components/use-action.js';
import { removeSkill, setSkill, type Skill, SKILLS, useSkills } from './api.js';
import { InstallSkill } from './install.js';
import { originOf, sortSkills } from './skill-list.js';

export function SkillsPage() {
  const [leaving, setLeaving] = useState<Skill>();
  const remove = useAction((name: string) => removeSkill({ params: { name } }), [SKILLS]);
  const toggle = useAction(
    ({ name, enabled }: Pick<Skill, 'name' | 'enabled'>) => setSkill({ params: { name }, body: { enabled } }),
    [SKILLS],
  );
  return (
    <Page title={texts.title} about={texts.about}>
      <InstallSkill />
      <Section title={texts.list}>
        {toggle.error === null ? null : <Failure error={toggle.error} />}
        <Loaded query={useSkills()}>
          {({ skills }) => (
            <ul className={styles['list']}>
              {skills.length > 0 ? null : <li className={styles['about']}>{texts.empty}</li>}
              {sortSkills(skills).map((skill) => (
                <SkillItem
                  key={skill.name}
                  skill={skill}
                  isBusy={toggle.isBusy}
                  onSwitch={(enabled) => toggle.start({ name: skill.name, enabled })}
                  onDelete={() => setLeaving(skill)}
                />
              ))}
            </ul>
          )}
        </Loaded>
      </Section>
      <Confirm
        title={texts.deleteTitle(leaving?.name ?? '')}
        action={settings.delete}
        isOpen={leaving !== undefined}
        onClose={() => setLeaving(undefined)}
        onConfirm={() => (leaving === undefined ? Promise.resolve() : remove.run(leaving.name))}
      >
        {texts.deleteAbout}
      </Confirm>
    </Page>
  );
}

interface SkillItemProps {
  readonly skill: Skill;
  readonly isBusy: boolean;
  readonly onSwitch: (enabled: boolean) => void;
  readonly onDelete: () => void;
}

const SkillItem = ({ skill, isBusy, onSwitch, onDelete }: SkillItemProps) => (
  <li className={styles['item']}>
    <details className={styles['itemText']}>
      <summary>
        <strong>{plainText(skill.name, 100)}</strong>{' '}
        <Badge tone={skill.editable ? 'accent' : 'neutral'}>{texts.origins[originOf(skill)]}</Badge>
      </summary>
      <p className={styles['wrap']}>{plainText(skill.description)}</p>
      <p className={styles['hint']}>
        {texts.license}: {skill.license === null ? texts.noLicense : plainText(skill.license, 300)}
      </p>
    </details>
    <div className={styles['row']}>
      <Check label={texts.switchOf(skill.name)} isOn={skill.enabled} isDisabled={isBusy} onChange={onSwitch} />
      {skill.editable ? (
        <Button look="danger" onClick={onDelete}>
          {settings.delete}
        </Button>
      ) : null}
    </div>
  </li>
);
