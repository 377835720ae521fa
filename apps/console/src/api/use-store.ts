import { useSyncExternalStore } from 'react';
import type { Store } from './store.js';

/** The value of a store; the component is rendered again when it changes. */
export const useStore = <Value>(store: Pick<Store<Value>, 'read' | 'subscribe'>): Value =>
  useSyncExternalStore(store.subscribe, store.read);
