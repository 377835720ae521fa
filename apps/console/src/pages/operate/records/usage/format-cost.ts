/** A cost in its currency, with more digits for what is small; a plain number while no model has prices. */
export const formatCost = (cost: number, currency: string | null): string =>
  new Intl.NumberFormat(undefined, {
    ...(currency === null ? {} : { style: 'currency', currency }),
    minimumFractionDigits: 2,
    maximumFractionDigits: cost !== 0 && Math.abs(cost) < 1 ? 6 : 2,
  }).format(cost);
