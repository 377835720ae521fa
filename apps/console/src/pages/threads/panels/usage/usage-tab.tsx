import type { compactionRoutes, threadRoutes } from '@caribou/contracts';
import { useMutation, useQuery } from '@tanstack/react-query';
import { endpoint } from '../../../../api/endpoint.js';
import { Button } from '../../../../components/button.js';
import { type Column, DataTable } from '../../../../components/data-table.js';
import { Failure, Loading, Notice } from '../../../../components/notice.js';
import { formatCount, formatMoney } from '../../../../text/format.js';
import { panels } from '../../../../text/panels.js';
import { useConversation } from '../../conversation-context.js';
import styles from '../panels.module.css';

const getTokenUsage = endpoint<typeof threadRoutes.tokenUsage>('GET', '/threads/:thread_id/token-usage');
const compactThread = endpoint<typeof compactionRoutes.compact>('POST', '/threads/:thread_id/compact');

const { usage: texts } = panels;

type Usage = Awaited<ReturnType<typeof getTokenUsage>>;
type CallerRow = readonly [name: string, tokens: number];
type ModelRow = readonly [name: string, counts: Usage['by_model'][string]];

/** @param currency null: no model has prices, and no cost is shown */
const modelColumns = (currency: string | null): readonly Column<ModelRow>[] => [
  { head: texts.model, cell: ([name]) => name },
  { head: texts.tokens, cell: ([, { tokens }]) => formatCount(tokens), isNumber: true },
  { head: texts.runs, cell: ([, { runs }]) => formatCount(runs), isNumber: true },
  ...(currency === null ? [] : [costColumn(currency)]),
];
const costColumn = (currency: string): Column<ModelRow> => ({
  head: texts.cost,
  cell: ([, { cost }]) => (cost === null ? texts.costUnknown : formatMoney(cost, currency)),
  isNumber: true,
});
const callerColumns: readonly Column<CallerRow>[] = [
  { head: texts.caller, cell: ([name]) => name },
  { head: texts.tokens, cell: ([, tokens]) => formatCount(tokens), isNumber: true },
];

/** Tokens of the conversation, what they cost, how full the context is, and a way to summarize it. */
export function UsageTab() {
  const { threadId, revision } = useConversation();
  const { data, error, refetch } = useQuery({
    queryKey: ['threads', threadId, 'token-usage', revision],
    queryFn: ({ signal }) => getTokenUsage({ params: { thread_id: threadId }, signal }),
  });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  return (
    <div className={styles['stack']}>
      <h2>{panels.tabs.usage}</h2>
      <Tables usage={data} />
      <h3>{texts.context}</h3>
      <Context usage={data} />
      <Compaction onDone={() => void refetch()} />
    </div>
  );
}

function Tables({ usage }: { readonly usage: Usage }) {
  const callers = Object.keys(texts.callers) as (keyof typeof texts.callers)[];
  return (
    <>
      <p>{totalsOf(usage)}</p>
      {usage.currency === null ? null : <p className={styles['quiet']}>{texts.costAbout}</p>}
      <DataTable
        caption={texts.byModel}
        columns={modelColumns(usage.currency)}
        rows={Object.entries(usage.by_model)}
        keyOf={([name]) => name}
        empty={texts.none}
      />
      <DataTable
        caption={texts.byCaller}
        columns={callerColumns}
        rows={callers.map((caller): CallerRow => [texts.callers[caller], usage.by_caller[caller]])}
        keyOf={([name]) => name}
        empty={texts.none}
      />
    </>
  );
}

function totalsOf({ cost, currency, ...usage }: Usage): string {
  const counts = [
    [texts.input, usage.total_input_tokens],
    [texts.output, usage.total_output_tokens],
    [texts.total, usage.total_tokens],
    [texts.runs, usage.total_runs],
  ] as const;
  const facts = counts.map(([name, count]) => `${name} ${formatCount(count)}`);
  if (cost !== null && currency !== null) facts.push(`${texts.cost} ${formatMoney(cost, currency)}`);
  return facts.join(' · ');
}

function Context({ usage: { context_usage: context } }: { readonly usage: Usage }) {
  if (context === undefined) return <p className={styles['quiet']}>{texts.contextUnknown}</p>;
  const text = texts.contextFull(
    formatCount(context.token_count),
    formatCount(context.max_context_tokens),
    String(context.percentage),
  );
  return (
    <div className={styles['field']}>
      <meter
        className={styles['meter']}
        aria-label={texts.context}
        min={0}
        max={100}
        high={80}
        value={Math.min(100, context.percentage)}
      >
        {text}
      </meter>
      <span>{text}</span>
    </div>
  );
}

/** The models of summaries are slow: their answer may take longer than other requests. */
function Compaction({ onDone }: { readonly onDone: () => void }) {
  const { threadId, modelName, runInFlight, refresh } = useConversation();
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () =>
      compactThread({
        params: { thread_id: threadId },
        body: modelName === undefined ? {} : { model_name: modelName },
      }),
    onSuccess: () => {
      onDone();
      refresh();
    },
  });
  return (
    <section className={styles['stack']} aria-label={texts.compact}>
      <p className={styles['quiet']}>{texts.compactAbout}</p>
      <div className={styles['row']}>
        <Button disabled={isPending || runInFlight !== undefined} onClick={() => mutate()}>
          {texts.compact}
        </Button>
        {runInFlight === undefined ? null : <span className={styles['quiet']}>{texts.whileBusy}</span>}
      </div>
      {error === null ? null : <Failure error={error} />}
      {data === undefined ? null : (
        <Notice>
          {data.compacted
            ? texts.compacted(data.removed_message_count, formatCount(data.total_tokens))
            : texts.notCompacted[data.reason ?? 'below_threshold']}
        </Notice>
      )}
    </section>
  );
}
