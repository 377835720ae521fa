import type { ModelState } from '@caribou/contracts';
import { useState } from 'react';
import { Badge, type Tone } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { type Column, DataTable } from '../../../components/data-table.js';
import { Confirm } from '../../../components/dialog.js';
import { Failure, Loading } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { fleet as text } from '../../../text/fleet.js';
import { formatCount, formatDuration } from '../../../text/format.js';
import { useModelStates, useResetCircuit } from './api.js';
import styles from './fleet.module.css';

/** Circuits and slots of the configured models; a circuit can be closed. */
export function Component() {
  const states = useModelStates();
  const reset = useResetCircuit();
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  return (
    <Page title={text.modelsTitle} about={text.modelsAbout}>
      {states.isError ? <Failure error={states.error} onRetry={() => void states.refetch()} /> : null}
      {states.isPending ? <Loading /> : null}
      {states.data === undefined ? null : (
        <DataTable
          caption={text.modelsTitle}
          columns={columnsFor(setChosen, states.dataUpdatedAt)}
          rows={states.data.models}
          keyOf={({ name }) => name}
          empty={text.modelsEmpty}
        />
      )}
      <Confirm
        title={text.resetTitle}
        action={text.reset}
        isOpen={chosen !== undefined}
        onClose={() => setChosen(undefined)}
        onConfirm={() => reset.mutateAsync(chosen ?? '')}
      >
        <p>{text.resetAbout(chosen ?? '')}</p>
      </Confirm>
    </Page>
  );
}

const TONES: Readonly<Record<ModelState['circuit']['state'], Tone>> = {
  closed: 'good',
  open: 'bad',
  half_open: 'warn',
};

const columnsFor = (choose: (name: string) => void, nowMs: number): readonly Column<ModelState>[] => [
  { head: text.model, cell: ({ name }) => <strong>{name}</strong> },
  {
    head: text.provider,
    cell: ({ model, provider, dialect }) => (
      <span className={styles['stack']}>
        <span className={styles['id']}>{text.atProvider(model, provider)}</span>
        <span className={styles['quiet']}>{dialect}</span>
      </span>
    ),
  },
  { head: text.circuit, cell: ({ circuit }) => <Circuit circuit={circuit} nowMs={nowMs} /> },
  { head: text.failures, cell: ({ circuit }) => formatCount(circuit.failures), isNumber: true },
  { head: text.calls, cell: ({ slots }) => callsOf(slots), isNumber: true },
  { head: text.waiting, cell: ({ slots }) => formatCount(slots.waiting), isNumber: true },
  { head: text.fallbacks, cell: ({ fallbacks }) => (fallbacks.length === 0 ? text.none : fallbacks.join(', ')) },
  {
    head: text.action,
    cell: ({ name, circuit }) => (
      <Button
        disabled={circuit.state === 'closed' && circuit.failures === 0}
        aria-label={text.resetOf(name)}
        onClick={() => choose(name)}
      >
        {text.reset}
      </Button>
    ),
  },
];

const callsOf = ({ used, limit }: ModelState['slots']): string =>
  limit === null ? text.uncounted : text.pair(formatCount(used), formatCount(limit));

function Circuit({ circuit, nowMs }: { readonly circuit: ModelState['circuit']; readonly nowMs: number }) {
  const leftMs = circuit.retry_at === null ? 0 : Date.parse(circuit.retry_at) - nowMs;
  return (
    <span className={styles['stack']}>
      <span>
        <Badge tone={TONES[circuit.state]}>{text.circuits[circuit.state]}</Badge>
      </span>
      {circuit.state === 'closed' ? null : (
        <span className={styles['quiet']}>{leftMs > 0 ? text.nextTry(formatDuration(leftMs)) : text.mayTry}</span>
      )}
    </span>
  );
}
