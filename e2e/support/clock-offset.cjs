/**
 * Loaded into a service by NODE_OPTIONS: its clock differs from that of the machine by TEST_CLOCK_OFFSET_MS. Timers and the
 * monotonic clock are as they are.
 */
const offsetMs = Number(process.env.TEST_CLOCK_OFFSET_MS ?? 0);
const RealDate = Date;

globalThis.Date = class Date extends RealDate {
  constructor(...values) {
    if (values.length === 0) super(RealDate.now() + offsetMs);
    else super(...values);
  }

  static now() {
    return RealDate.now() + offsetMs;
  }
};
