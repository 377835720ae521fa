import { camelKeys } from '@caribou/config';
import { omitUndefined } from '@caribou/contracts';
import { memoize, type ModelPort } from '@caribou/core';
import { gateModel } from '../model-calls/gated-model.js';
import type { ChainOptions, ChainPorts, EntryOptions } from './chain-types.js';

/** Returns `reason` if the switch is off. */
export const ifOff = (on: boolean | undefined, reason: string): string | undefined =>
  on === false ? reason : undefined;

const NO_SECTION: NonNullable<ToolOutput> = {};
type ToolOutput = EntryOptions['config']['tool_output'];
const readToolOutput = memoize((section: NonNullable<ToolOutput>) => camelKeys(section));

/** The limits of tool results that the section sets. */
export const toolOutputLimits = (section: ToolOutput) => readToolOutput(section ?? NO_SECTION);

/** The run's model for a middleware's own calls, which bypass the chain and are therefore gated here. */
export const modelForOwnCalls = ({ model, gate }: ChainPorts): ModelPort =>
  gate === undefined ? model : gateModel(model, gate);

/** The model that a section names, or `{}`. @throws {InvalidRequestError} for an unknown model */
export function findNamedModel({ models }: ChainOptions, name: string | null | undefined) {
  const model = name === null || name === undefined ? undefined : models?.get(name);
  return omitUndefined({ model });
}
