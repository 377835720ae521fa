import { useState } from 'react';
import { useMe } from '../../../api/me.js';
import { Button } from '../../../components/button.js';
import { DataTable } from '../../../components/data-table.js';
import { Confirm } from '../../../components/dialog.js';
import { Failure, Notice } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { settings } from '../../../text/settings.js';
import { mcpTexts as texts } from '../../../text/settings-mcp.js';
import { Check } from '../parts/field.js';
import { Loaded } from '../parts/loaded.js';
import styles from '../parts/parts.module.css';
import { plainText } from '../parts/plain-text.js';
import { useAction } from '../../../components/use-action.js';
import { MCP, type McpServer, type McpServers, resetCache, switchServer, useMcpServers, writeServer } from './api.js';
import { ServerForm } from './server-form.js';

export function McpPage() {
  const me = useMe();
  return (
    <Page title={texts.title} about={texts.about}>
      <Loaded query={me}>
        {({ system_role }) => (system_role === 'admin' ? <Servers /> : <Notice>{texts.forAdministrators}</Notice>)}
      </Loaded>
    </Page>
  );
}

/** What an administrator does with a server; `edit` without a name adds one. */
type Doing =
  | { readonly kind: 'edit'; readonly name?: string; readonly server?: McpServer }
  | { readonly kind: 'delete'; readonly name: string };

function Servers() {
  const servers = useMcpServers(true);
  const [doing, setDoing] = useState<Doing>();
  const toggle = useAction(
    ({ name, enabled }: { readonly name: string; readonly enabled: boolean }) =>
      switchServer({ body: { server_name: name, enabled } }),
    [MCP],
  );
  const reset = useAction(() => resetCache({}), [MCP]);
  const remove = useAction((name: string) => writeServer(name, null), [MCP]);
  const close = (): void => setDoing(undefined);
  const error = toggle.error ?? reset.error;
  return (
    <>
      <div className={styles['row']}>
        <Button look="primary" onClick={() => setDoing({ kind: 'edit' })}>
          {texts.add}
        </Button>
        <Button disabled={reset.isBusy} title={texts.resetAbout} onClick={() => reset.start()}>
          {texts.reset}
        </Button>
      </div>
      {error === null ? null : <Failure error={error} />}
      {reset.isDone ? <Notice>{texts.resetDone}</Notice> : null}
      <Loaded query={servers}>
        {({ mcp_servers }) => (
          <ServerTable
            servers={mcp_servers}
            isBusy={toggle.isBusy}
            onSwitch={(name, enabled) => toggle.start({ name, enabled })}
            onDo={setDoing}
          />
        )}
      </Loaded>
      {doing?.kind === 'edit' ? <ServerForm name={doing.name} server={doing.server} onClose={close} /> : null}
      <Confirm
        title={texts.deleteTitle(doing?.kind === 'delete' ? doing.name : '')}
        action={settings.delete}
        isOpen={doing?.kind === 'delete'}
        onClose={close}
        onConfirm={() => (doing?.kind === 'delete' ? remove.run(doing.name) : Promise.resolve())}
      >
        {texts.deleteAbout}
      </Confirm>
    </>
  );
}

interface ServerTableProps {
  readonly servers: McpServers;
  readonly isBusy: boolean;
  readonly onSwitch: (name: string, enabled: boolean) => void;
  readonly onDo: (doing: Doing) => void;
}

const ServerTable = ({ servers, isBusy, onSwitch, onDo }: ServerTableProps) => (
  <DataTable
    caption={texts.list}
    empty={texts.empty}
    rows={Object.entries(servers)}
    keyOf={([name]) => name}
    columns={[
      { head: texts.name, cell: ([name]) => plainText(name, 64) },
      { head: texts.type, cell: ([, { type }]) => type },
      {
        head: texts.target,
        cell: ([, { url, command, args }]) => (
          <code className={styles['wrap']}>{plainText(url ?? [command, ...args].join(' '), 300)}</code>
        ),
      },
      {
        head: texts.enabled,
        cell: ([name, { enabled }]) => (
          <Check
            label={texts.switchOf(name)}
            isOn={enabled}
            isDisabled={isBusy}
            onChange={(isOn) => onSwitch(name, isOn)}
          />
        ),
      },
      {
        head: settings.edit,
        cell: ([name, server]) => (
          <div className={styles['row']}>
            <Button onClick={() => onDo({ kind: 'edit', name, server })}>{settings.edit}</Button>
            <Button look="danger" onClick={() => onDo({ kind: 'delete', name })}>
              {settings.delete}
            </Button>
          </div>
        ),
      },
    ]}
  />
);
