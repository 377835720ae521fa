import { setTimeout as sleep } from 'node:timers/promises';
import { type startScriptedMcp, textResult } from '@caribou/testing';

type Tool = Parameters<typeof startScriptedMcp>[0]['tools'][string];

/** A tool whose effect can be counted: it appends its word to the list. It takes long enough for its caller to be killed meanwhile. */
export const payTool = (paid: string[]): Tool => ({
  inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  call: async ({ word }) => {
    paid.push(String(word));
    await sleep(250);
    return textResult(`paid:${String(word)}`);
  },
});
