import type { TestProxy } from '@caribou/testing';

/** The deliveries of one thread's wake to a runner, from now on, by the subject on which they are answered. */
export function watchDeliveries(proxy: TestProxy, threadId: string): ReadonlySet<string> {
  const deliveries = new Set<string>();
  proxy.hold('reply', {
    bytes: (seen) => {
      for (const [, subject = '', ack = ''] of seen.toString('latin1').matchAll(/MSG (\S+) \S+ (\$JS\.ACK\.\S+)/g))
        if (subject.includes(threadId)) deliveries.add(ack);
      return false;
    },
  });
  return deliveries;
}

/**
 * The answers of a runner to these deliveries, from now on: +WPI while it works on one, +ACK or +TERM when it is finished with it.
 * Wakes of other threads, which runners killed by earlier tests left, are rightly acknowledged and do not count.
 */
export function watchAnswers(proxy: TestProxy, deliveries: ReadonlySet<string>): ReadonlySet<string> {
  const answers = new Set<string>();
  proxy.hold('request', {
    bytes: (seen) => {
      const sent = seen.toString('latin1').matchAll(/PUB (\$JS\.ACK\.\S+)[^\r]*\r\n(\+ACK|\+WPI|\+TERM)/g);
      for (const [, ack = '', answer = ''] of sent) if (deliveries.has(ack)) answers.add(`${answer} ${ack}`);
      return false;
    },
  });
  return answers;
}
