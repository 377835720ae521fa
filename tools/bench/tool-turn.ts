import { resolve } from 'node:path';
import { simpleTurn } from './load.js';
import { SIZED_RESULT } from './tool-result.js';

/** Lines of config.yaml that give agents the tool of sized-result.ts. */
export const SIZED_RESULT_CONFIG = `tools:\n  - name: ${SIZED_RESULT}\n    use: ${resolve(__dirname, 'sized-result.js')}#sizedResult\n`;

/** The script of a turn with so many calls of the tool, one per answer of the model, and a simple answer at the end. */
export function toolTurn(calls: number, chars: number): string {
  const labels = Array.from({ length: calls }, (_, at) => `call ${at}`);
  const lines = labels.map((label) => `#tool ${SIZED_RESULT} ${JSON.stringify({ chars, label })}`);
  return [...lines, simpleTurn()].join('\n');
}
