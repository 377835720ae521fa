import { configSubject } from '@caribou/contracts';
import type { ConfigChanges } from '../connection/bus.js';
import type { NatsLink } from '../connection/nats-link.js';

/** Broadcasts changes of documents, so that they are noticed earlier than by reading the version in the store. */
export function createConfigChanges(link: NatsLink): ConfigChanges {
  return {
    publishConfigChange: (name) => {
      if (link.connected) link.connection.publish(configSubject(name));
    },
    subscribeConfigChanges: (name, listener) => {
      let heard = true;
      const notify = (): void => {
        if (heard) listener();
      };
      const stop = link.subscribe(configSubject(name), notify);
      link.onUp(notify);
      return () => {
        heard = false;
        stop();
      };
    },
  };
}
