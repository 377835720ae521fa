import { useState } from 'react';
import { ApiError } from '../../../api/request.js';
import { Button } from '../../../components/button.js';
import { Dialog } from '../../../components/dialog.js';
import { Failure, Notice } from '../../../components/notice.js';
import { settings } from '../../../text/settings.js';
import { mcpTexts as texts } from '../../../text/settings-mcp.js';
import { shared } from '../../../text/shared.js';
import { Field } from '../parts/field.js';
import styles from '../parts/parts.module.css';
import { Unsaved } from '../parts/unsaved.js';
import { useAction } from '../../../components/use-action.js';
import { MCP, type McpServer, writeServer } from './api.js';
import { faultsIn, parseServer, toServerText, withEmptyFields } from './server-json.js';

interface ServerFormProps {
  /** Absent for a new server. */
  readonly name: string | undefined;
  readonly server: McpServer | undefined;
  readonly onClose: () => void;
}

const EXAMPLE = '{\n  "type": "http",\n  "url": "https://"\n}';

export function ServerForm({ name: known, server, onClose }: ServerFormProps) {
  const before = server === undefined ? EXAMPLE : toServerText(server);
  const [name, setName] = useState(known ?? '');
  const [text, setText] = useState(before);
  const parsed = parseServer(text);
  const save = useAction(
    async (value: Readonly<Record<string, unknown>>) => {
      await writeServer(name, withEmptyFields(value, server ?? {}));
      onClose();
    },
    [MCP],
  );
  const fault =
    parsed.kind === 'server'
      ? undefined
      : parsed.fault === 'json'
        ? texts.faults.json(parsed.line)
        : texts.faults.object;
  return (
    <Dialog title={known === undefined ? texts.add : texts.editTitle(known)} isOpen onClose={onClose}>
      <Unsaved isDirty={text !== before && !save.isDone} />
      <form
        className={styles['form']}
        onSubmit={(event) => {
          event.preventDefault();
          if (parsed.kind === 'server') save.start(parsed.value);
        }}
      >
        <Field label={texts.name} hint={texts.nameHint}>
          <input
            required
            maxLength={64}
            disabled={known !== undefined}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
        </Field>
        <Field label={texts.json} hint={texts.jsonHint} fault={fault} isCode>
          <textarea spellCheck={false} value={text} onChange={({ currentTarget }) => setText(currentTarget.value)} />
        </Field>
        <Refusal error={save.error} name={name} text={text} />
        <div className={styles['row']}>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button look="primary" type="submit" disabled={save.isBusy || parsed.kind === 'fault'}>
            {settings.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Why the server was not saved: for its fields one by one, or as a whole. */
function Refusal({ error, name, text }: { readonly error: unknown; readonly name: string; readonly text: string }) {
  if (error === null) return null;
  if (!(error instanceof ApiError) || error.status !== 422) return <Failure error={error} />;
  return (
    <Notice tone="bad">
      {texts.faultList}
      <ul>
        {faultsIn(error.message, name, text).map(({ field, message, line }) => (
          <li key={`${field} ${message}`}>{texts.fault(field, message, line)}</li>
        ))}
      </ul>
    </Notice>
  );
}
