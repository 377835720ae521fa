import type { itemRoutes } from '@caribou/contracts';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import { endpoint } from '../../../api/endpoint.js';
import { Button } from '../../../components/button.js';
import { DataTable } from '../../../components/data-table.js';
import { Page } from '../../../components/page.js';
import { formatTime } from '../../../text/format.js';
import { settings } from '../../../text/settings.js';
import { itemTexts as texts } from '../../../text/settings-account.js';
import { Field } from '../parts/field.js';
import { Loaded } from '../parts/loaded.js';
import styles from '../parts/parts.module.css';
import { plainText } from '../parts/plain-text.js';

const searchItems = endpoint<typeof itemRoutes.search>('POST', '/store/items/search');

const PER_PAGE = 20;
const MAX_VALUE_CHARS = 5_000;

/** Items of the person, one page at a time. Reading them does not extend their lives. */
export function ItemsPage() {
  const [prefix, setPrefix] = useState('');
  const [offset, setOffset] = useState(0);
  const labels = useDeferredValue(prefix).split('.').filter(Boolean);
  const items = useQuery({
    queryKey: ['items', labels, offset],
    queryFn: ({ signal }) =>
      searchItems({ body: { namespace_prefix: labels, limit: PER_PAGE, offset, refresh_ttl: false }, signal }),
    placeholderData: keepPreviousData,
  });
  const count = items.data?.items.length ?? 0;
  return (
    <Page title={texts.title} about={texts.about}>
      <Field label={texts.prefix} hint={texts.prefixHint}>
        <input
          type="search"
          value={prefix}
          onChange={({ currentTarget }) => {
            setPrefix(currentTarget.value);
            setOffset(0);
          }}
        />
      </Field>
      <Loaded query={items}>
        {(read) => (
          <DataTable
            caption={texts.list}
            empty={texts.empty}
            rows={read.items}
            keyOf={({ namespace, key }) => JSON.stringify([namespace, key])}
            columns={[
              { head: texts.namespace, cell: ({ namespace }) => plainText(namespace.join('.'), 300) },
              { head: texts.key, cell: ({ key }) => <span className={styles['wrap']}>{plainText(key, 300)}</span> },
              {
                head: texts.value,
                cell: ({ value }) => (
                  <pre className={styles['pre']}>{plainText(JSON.stringify(value, null, 2), MAX_VALUE_CHARS)}</pre>
                ),
              },
              { head: texts.changed, cell: ({ updated_at }) => formatTime(updated_at) },
            ]}
          />
        )}
      </Loaded>
      <div className={styles['row']}>
        <Button disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - PER_PAGE))}>
          {settings.previous}
        </Button>
        {count === 0 ? null : <span>{texts.page(offset + 1, offset + count)}</span>}
        <Button disabled={count < PER_PAGE} onClick={() => setOffset(offset + PER_PAGE)}>
          {settings.next}
        </Button>
      </div>
    </Page>
  );
}
