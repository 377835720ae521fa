import { daysOf, monthsUntil } from './month.js';

const NOW = Date.parse('2026-03-14T23:30:00Z');

describe(daysOf, () => {
  test('an earlier month is whole, this one ends today', () => {
    expect(daysOf('2026-03', NOW)).toEqual({ from: '2026-03-01', to: '2026-03-14' });
    expect(daysOf('2026-02', NOW)).toEqual({ from: '2026-02-01', to: '2026-02-28' });
    expect(daysOf('2024-02', NOW).to).toBe('2024-02-29');
    expect(daysOf('2025-12', NOW)).toEqual({ from: '2025-12-01', to: '2025-12-31' });
  });
});

describe(monthsUntil, () => {
  test('goes back over the turn of the year, also from the end of a long month', () => {
    expect(monthsUntil(NOW, 4)).toEqual(['2026-03', '2026-02', '2026-01', '2025-12']);
    expect(monthsUntil(Date.parse('2026-03-31T12:00:00Z'), 2)).toEqual(['2026-03', '2026-02']);
  });
});
