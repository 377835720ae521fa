import { formatMoney } from './format.js';

describe(formatMoney, () => {
  const digitsOf = (amount: number, currency = 'USD'): string =>
    formatMoney(amount, currency)
      .replace(/[^\d.,]/g, '')
      .replace(',', '.');

  test.each([
    [0, '0.00'],
    [12.345_6, '12.35'],
    [0.1, '0.10'],
    [0.05, '0.050'],
    [0.012_3, '0.012'],
    [0.000_022_5, '0.000023'],
    [0.000_000_004, '0.0000000040'],
  ])('%d', (amount, expected) => {
    expect(digitsOf(amount)).toBe(expected);
  });

  test('a currency has its digits, and its sign or code', () => {
    expect(digitsOf(1_000.4, 'JPY').replace(/\D/g, '')).toBe('1000');
    expect(digitsOf(0.52, 'JPY')).toBe('0.52');
    expect(formatMoney(1, 'XTS')).toContain('XTS');
    expect(formatMoney(12.345, null)).toMatch(/^12[.,]3[45]$/);
  });
});
