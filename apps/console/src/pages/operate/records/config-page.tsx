import type { AdminConfigReply, ConfigFindingReply } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useId, useMemo, useState } from 'react';
import { getConfig } from '../../../api/records.js';
import { Badge, type Tone } from '../../../components/badge.js';
import { type Column, DataTable } from '../../../components/data-table.js';
import { Failure, Loading } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { facts } from '../../../text/records/facts.js';
import { findSettings, type SettingRow, settingRows } from './config-rows.js';
import { Id, Text } from './ids.js';
import styles from './records.module.css';

const TONES: Readonly<Record<ConfigFindingReply['level'], Tone>> = { ok: 'good', warn: 'warn', fail: 'bad' };

/** The configuration of the gateway that answers, and what is wrong with it. */
export function Component() {
  const config = useQuery({ queryKey: ['records', 'config'], queryFn: ({ signal }) => getConfig({ signal }) });
  return (
    <Page title={facts.config} about={facts.configAbout}>
      {config.isPending ? <Loading /> : null}
      {config.isError ? <Failure error={config.error} onRetry={() => void config.refetch()} /> : null}
      {config.data === undefined ? null : <Loaded reply={config.data} />}
    </Page>
  );
}

function Loaded({ reply: { config, sources, findings } }: { readonly reply: AdminConfigReply }) {
  return (
    <>
      <h2>{facts.findings}</h2>
      <p className={styles['quiet']}>{facts.findingsAbout}</p>
      <DataTable
        caption={facts.findings}
        columns={findingColumns}
        rows={findings}
        keyOf={({ topic, text }) => `${topic} ${text}`}
        empty=""
      />
      <Settings config={config} sources={sources} />
    </>
  );
}

function Settings({ config, sources }: Pick<AdminConfigReply, 'config' | 'sources'>) {
  const id = useId();
  const [search, setSearch] = useState('');
  const wanted = useDeferredValue(search);
  const rows = useMemo(() => settingRows(config), [config]);
  return (
    <>
      <h2>{facts.config}</h2>
      <div className={styles['field']}>
        <label htmlFor={id}>{facts.search}</label>
        <input id={id} type="search" value={search} onChange={({ target }) => setSearch(target.value)} />
      </div>
      <DataTable
        caption={facts.config}
        columns={settingColumns(sources)}
        rows={findSettings(rows, wanted)}
        keyOf={({ path }) => path}
        empty={facts.noSettings}
      />
    </>
  );
}

const findingColumns: readonly Column<ConfigFindingReply>[] = [
  { head: facts.level, cell: ({ level }) => <Badge tone={TONES[level]}>{facts.levels[level]}</Badge> },
  { head: facts.topic, cell: ({ topic }) => topic },
  {
    head: facts.finding,
    cell: ({ text, fix }) => (
      <>
        {text}
        {fix === null ? null : <div className={styles['quiet']}>{fix}</div>}
      </>
    ),
  },
];

const settingColumns = (sources: AdminConfigReply['sources']): readonly Column<SettingRow>[] => [
  { head: facts.setting, cell: ({ path }) => <Id>{path}</Id> },
  { head: facts.value, cell: ({ value }) => <Text>{value}</Text> },
  { head: facts.source, cell: ({ part }) => (sources[part] ?? []).map((source) => facts.sources[source]).join(', ') },
];
