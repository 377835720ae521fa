import { constants, setPriority } from 'node:os';
import { attackUntil } from './attacks.js';
import { clientOf } from './client.js';

/**
 * A separate process that attacks until it gets any message, then sends its tally. It has the lowest priority:
 * a hostile user sits at another machine, and only what the product does for them may slow others down.
 */
const [apiUrl = '', key = '', lanes = '1'] = process.argv.slice(2);
setPriority(constants.priority.PRIORITY_LOW);
const over = new AbortController();
process.once('message', () => over.abort());
process.once('disconnect', () => over.abort());
void attackUntil(over.signal, clientOf(apiUrl, key), Number(lanes)).then((tally) => {
  process.send?.(tally);
  process.disconnect();
});
