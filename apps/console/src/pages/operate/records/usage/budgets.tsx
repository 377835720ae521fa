import type { BudgetsReply } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { getBudgets } from '../../../../api/records.js';
import { Badge } from '../../../../components/badge.js';
import { type Column, DataTable } from '../../../../components/data-table.js';
import { Failure, Loading } from '../../../../components/notice.js';
import { formatCount, formatMoney } from '../../../../text/format.js';
import { facts } from '../../../../text/records/facts.js';
import { Id } from '../ids.js';
import styles from '../records.module.css';

type Use = BudgetsReply['top_users'][number];

/** The budgets of the day and who used most of them. */
export function Budgets() {
  const budgets = useQuery({
    queryKey: ['records', 'budgets'],
    queryFn: ({ signal }) => getBudgets({ query: { limit: 10 }, signal }),
  });
  if (budgets.isPending) return <Loading />;
  if (budgets.isError) return <Failure error={budgets.error} onRetry={() => void budgets.refetch()} />;
  const { day, currency, user_budget_per_day: user, key_budget_per_day: key, ...today } = budgets.data;
  const shownBudget = (budget: number | null): string =>
    budget === null ? facts.noBudget : formatMoney(budget, currency);
  const sums = [
    [facts.userBudget, shownBudget(user)],
    [facts.keyBudget, shownBudget(key)],
    [facts.usersToday, formatCount(today.users)],
    [facts.cost, formatMoney(today.cost, currency)],
  ] as const;
  const columns = columnsOf(currency, today.warn_share);
  return (
    <>
      <h2>{facts.budgets}</h2>
      <p className={styles['quiet']}>{facts.budgetsAbout(day)}</p>
      <dl className={styles['sums']}>
        {sums.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {(
        [
          [facts.topUsers, today.top_users],
          [facts.topKeys, today.top_keys],
        ] as const
      ).map(([caption, rows]) => (
        <div key={caption} className={styles['part']}>
          <h3>{caption}</h3>
          <DataTable
            caption={caption}
            columns={columns}
            rows={rows}
            keyOf={({ name }) => name}
            empty={facts.noneToday}
          />
        </div>
      ))}
    </>
  );
}

const columnsOf = (currency: string | null, warnShare: number): readonly Column<Use>[] => [
  { head: facts.name, cell: ({ name }) => <Id>{name}</Id> },
  { head: facts.cost, cell: ({ cost }) => formatMoney(cost, currency), isNumber: true },
  { head: facts.share, cell: ({ share }) => shareOf(share, warnShare), isNumber: true },
];

function shareOf(share: number | null, warnShare: number) {
  if (share === null) return facts.noBudget;
  if (share >= 1) return <Badge tone="bad">{facts.spent}</Badge>;
  const percent = `${Math.floor(share * 100)} %`;
  return share >= warnShare ? <Badge tone="warn">{percent}</Badge> : percent;
}
