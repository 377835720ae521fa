import type { profileRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { endpoint } from '../../../api/endpoint.js';
import { Button } from '../../../components/button.js';
import { Failure, Notice } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { formatCount } from '../../../text/format.js';
import { settings } from '../../../text/settings.js';
import { profileTexts as texts } from '../../../text/settings-account.js';
import { Field } from '../parts/field.js';
import { Loaded } from '../parts/loaded.js';
import styles from '../parts/parts.module.css';
import { Unsaved } from '../parts/unsaved.js';
import { useAction } from '../../../components/use-action.js';

const getProfile = endpoint<typeof profileRoutes.get>('GET', '/user-profile');
const setProfile = endpoint<typeof profileRoutes.set>('PUT', '/user-profile');

const PROFILE = ['profile'] as const;
const MAX_CHARS = 8_000;

/** What all agents of the person are shown about them. */
export function ProfilePage() {
  const profile = useQuery({
    queryKey: [...PROFILE],
    queryFn: ({ signal }) => getProfile({ signal }),
    refetchOnWindowFocus: false,
  });
  return (
    <Page title={texts.title} about={texts.about}>
      <Loaded query={profile}>{({ content }) => <ProfileForm saved={content ?? ''} />}</Loaded>
    </Page>
  );
}

function ProfileForm({ saved }: { readonly saved: string }) {
  const [text, setText] = useState(saved);
  const save = useAction((content: string) => setProfile({ body: { content } }), [PROFILE]);
  const isDirty = text !== saved;
  return (
    <form
      className={styles['form']}
      onSubmit={(event) => {
        event.preventDefault();
        save.start(text);
      }}
    >
      <Unsaved isDirty={isDirty} />
      <Field label={texts.text} hint={texts.hint(formatCount(text.length))} isCode>
        <textarea maxLength={MAX_CHARS} value={text} onChange={({ currentTarget }) => setText(currentTarget.value)} />
      </Field>
      {save.error === null ? null : <Failure error={save.error} />}
      {save.isDone && !isDirty ? <Notice>{settings.saved}</Notice> : null}
      <div className={styles['row']}>
        <Button look="primary" type="submit" disabled={save.isBusy || !isDirty}>
          {settings.save}
        </Button>
      </div>
    </form>
  );
}
