import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { run } from './layout.mjs';

/**
 * What runs, written before it is started, so that `down` finds everything whatever happened to `up`.
 *
 * @typedef {object} LabState
 * @property {import('./namespaces.mjs').Machine | undefined} control
 * @property {import('./namespaces.mjs').Machine[]} nodes
 * @property {string[]} groups control groups
 * @property {Record<string, string>} kernel settings of the kernel before the start
 */

const file = run('state.json');

/** @returns {LabState | undefined} undefined when there is no lab */
export function readState() {
  if (!existsSync(file)) return undefined;
  /** @type {LabState} */
  const state = JSON.parse(readFileSync(file, 'utf8'));
  return state;
}

/** @param {LabState} state */
export function writeState(state) {
  mkdirSync(run(), { recursive: true });
  writeFileSync(file, JSON.stringify(state, undefined, 2));
}

export const removeState = () => rmSync(run(), { recursive: true, force: true });
