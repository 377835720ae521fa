const HAS_OFFSET = /(Z|[+-]\d{2}:?\d{2})$/i;

/**
 * A time of a client in ms since 1970; without an offset it is what clocks in the time zone show. Of two moments that show the same time
 * (clocks set back) it is the earlier one; a time that is left out (clocks set forward) is as much after the change.
 *
 * @param timezone IANA name that is valid
 */
export function wallTimeMs(text: string, timezone: string): number {
  if (HAS_OFFSET.test(text)) return Date.parse(text);
  const shownMs = Date.parse(`${text}Z`);
  const DAY_MS = 86_400_000;
  // The offsets before and after a change of clocks; both are the same at any other time.
  const offsets = [shownMs - DAY_MS, shownMs + DAY_MS].map((ms) => offsetMs(ms, timezone));
  const matching = offsets.find((offset) => offsetMs(shownMs - offset, timezone) === offset);
  return shownMs - (matching ?? offsets[0] ?? 0);
}

/** How far clocks in the time zone are ahead of UTC at a moment. */
function offsetMs(ms: number, timezone: string): number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const shown = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
  return shown - Math.floor(ms / 1_000) * 1_000;
}
