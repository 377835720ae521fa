import { wallTimeMs } from './wall-time.js';

const iso = (text: string, timezone: string): string => new Date(wallTimeMs(text, timezone)).toISOString();

describe('wallTimeMs', () => {
  test('a time with an offset is that time in any zone', () => {
    expect(iso('2026-07-01T12:00:00Z', 'Asia/Tokyo')).toBe('2026-07-01T12:00:00.000Z');
    expect(iso('2026-07-01T12:00:00+02:00', 'Asia/Tokyo')).toBe('2026-07-01T10:00:00.000Z');
  });

  test('without one it is what clocks in the zone show, in summer and in winter', () => {
    expect(iso('2026-07-01T12:00:00', 'Europe/Berlin')).toBe('2026-07-01T10:00:00.000Z');
    expect(iso('2026-01-01T12:00', 'Europe/Berlin')).toBe('2026-01-01T11:00:00.000Z');
    expect(iso('2026-01-01T12:00:00.250', 'Asia/Kolkata')).toBe('2026-01-01T06:30:00.250Z');
    expect(iso('2026-01-01T00:30:00', 'Pacific/Kiritimati')).toBe('2025-12-31T10:30:00.000Z');
    expect(iso('2026-01-01T12:00:00', 'UTC')).toBe('2026-01-01T12:00:00.000Z');
  });

  test('a time that clocks show twice is the first of both', () => {
    expect(iso('2026-10-25T02:30:00', 'Europe/Berlin')).toBe('2026-10-25T00:30:00.000Z');
    expect(iso('2026-11-01T01:30:00', 'America/New_York')).toBe('2026-11-01T05:30:00.000Z');
  });

  test('a time that clocks skip is as much after the change', () => {
    expect(iso('2026-03-29T02:30:00', 'Europe/Berlin')).toBe('2026-03-29T01:30:00.000Z');
    expect(iso('2026-03-08T02:30:00', 'America/New_York')).toBe('2026-03-08T07:30:00.000Z');
  });
});
