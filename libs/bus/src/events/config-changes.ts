import { configSubject } from '@caribou/contracts';
import type { ConfigChanges } from '../connection/bus.js';
import type { NatsLink } from '../connection/nats-link.js';

/** Broadcasts that a document was changed: they only hurry what its version in the store says anyway. */
export function createConfigChanges(link: NatsLink): ConfigChanges {
  return {
    publishConfigChange: (name) => {
      if (link.connected) link.connection.publish(configSubject(name));
    },
    subscribeConfigChanges: (name, listener) => {
      let heard = true;
      const tell = (): void => {
        if (heard) listener();
      };
      const stop = link.subscribe(configSubject(name), tell);
      link.onUp(tell);
      return () => {
        heard = false;
        stop();
      };
    },
  };
}
