import { useState } from 'react';
import { Button } from '../../../components/button.js';
import { Confirm } from '../../../components/dialog.js';
import { Notice } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { keyTexts as texts } from '../../../text/access.js';
import { Loaded } from '../../settings/parts/loaded.js';
import { useAction } from '../../../components/use-action.js';
import { type ApiKey, type IssuedKey, KEYS, PAGE_SIZE, revokeKey, useKeys } from './api.js';
import { CreateKey } from './create-key.js';
import { IssuedSecret } from './issued-secret.js';
import { titleOf } from './key-form.js';
import { KeyTable } from './key-table.js';
import { Pager } from './pager.js';
import { RotateKey } from './rotate-key.js';

/** What the person does with a key, or a new one. */
type Dialog = { readonly kind: 'create' } | { readonly kind: 'rotate' | 'revoke'; readonly apiKey: ApiKey };

/** The API keys of the installation. */
export function Component() {
  const [offset, setOffset] = useState(0);
  const [dialog, setDialog] = useState<Dialog>();
  const [issued, setIssued] = useState<IssuedKey>();
  const keys = useKeys(offset);
  const close = (): void => setDialog(undefined);
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        <Button look="primary" disabled={issued !== undefined} onClick={() => setDialog({ kind: 'create' })}>
          {texts.create}
        </Button>
      }
    >
      {issued === undefined ? null : <IssuedSecret issued={issued} onDone={() => setIssued(undefined)} />}
      <Loaded query={keys}>
        {(page) => (
          <>
            {page.credentials_required ? null : <Notice tone="warn">{texts.localMode}</Notice>}
            <KeyTable
              keys={page.keys}
              // A second secret would take the first one from the page before it is stored.
              mayRotate={issued === undefined}
              onRotate={(apiKey) => setDialog({ kind: 'rotate', apiKey })}
              onRevoke={(apiKey) => setDialog({ kind: 'revoke', apiKey })}
            />
            <Pager offset={offset} size={PAGE_SIZE} total={page.total} onTurn={setOffset} />
          </>
        )}
      </Loaded>
      {dialog?.kind === 'create' ? <CreateKey onClose={close} onIssued={setIssued} /> : null}
      {dialog?.kind === 'rotate' ? <RotateKey apiKey={dialog.apiKey} onClose={close} onIssued={setIssued} /> : null}
      {dialog?.kind === 'revoke' ? <RevokeKey apiKey={dialog.apiKey} onClose={close} /> : null}
    </Page>
  );
}

function RevokeKey({ apiKey, onClose }: { readonly apiKey: ApiKey; readonly onClose: () => void }) {
  const revoke = useAction(() => revokeKey({ params: { key_id: apiKey.key_id } }), [KEYS]);
  return (
    <Confirm
      title={texts.revokeTitle(titleOf(apiKey))}
      action={texts.revokeAction}
      isOpen
      onClose={onClose}
      onConfirm={() => revoke.run()}
    >
      {texts.revokeAbout}
    </Confirm>
  );
}
