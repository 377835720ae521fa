import { parentPort, workerData } from 'node:worker_threads';
import { attackUntil } from './attacks.js';
import { clientOf } from './client.js';

/** A thread of its own, so that the attack does not slow down the measurement: attacks until it gets any message. */
const { apiUrl, key, lanes } = workerData as { readonly apiUrl: string; readonly key: string; readonly lanes: number };
const over = new AbortController();
parentPort?.once('message', () => over.abort());
void attackUntil(over.signal, clientOf(apiUrl, key), lanes).then((tally) => parentPort?.postMessage(tally));
