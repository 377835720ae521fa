/** The first and the last day of a month in UTC, up to today. @param month such as `2026-03` */
export function daysOf(month: string, nowMs: number): { readonly from: string; readonly to: string } {
  const [year = 0, number = 1] = month.split('-').map(Number);
  const last = new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10);
  const today = new Date(nowMs).toISOString().slice(0, 10);
  return { from: `${month}-01`, to: last < today ? last : today };
}

/** This month and those before it, the newest first. */
export const monthsUntil = (nowMs: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => {
    const now = new Date(nowMs);
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - index, 1)).toISOString().slice(0, 7);
  });
