import { useState } from 'react';
import { Button } from '../../../components/button.js';
import { Page } from '../../../components/page.js';
import { accountTexts as texts } from '../../../text/settings-account.js';
import { Section } from '../parts/section.js';
import { TypedConfirm } from '../parts/typed-confirm.js';
import { eraseMe } from './api.js';
import { Sessions } from './sessions.js';

export function AccountPage() {
  const [asksErasure, setAsksErasure] = useState(false);
  return (
    <Page title={texts.title} about={texts.about}>
      <Sessions />
      <Section title={texts.erase} about={texts.eraseAbout}>
        <div>
          <Button look="danger" onClick={() => setAsksErasure(true)}>
            {texts.eraseAction}
          </Button>
        </div>
      </Section>
      {asksErasure ? (
        <TypedConfirm
          title={texts.eraseTitle}
          action={texts.eraseAction}
          phrase={texts.erasePhrase}
          onClose={() => setAsksErasure(false)}
          onConfirm={async () => {
            await eraseMe({});
            // Nothing that this page has read is true any more.
            location.reload();
          }}
        >
          {texts.eraseDialog}
        </TypedConfirm>
      ) : null}
    </Page>
  );
}
