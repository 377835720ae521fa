import { ExtensionError } from '@caribou/contracts';
import type { ModelModule } from '@caribou/core';
import { z } from 'zod';
import { CustomModel } from './custom-types.js';
import { isFunction } from './definition-parts.js';
import { faultsOf } from './own-state.js';

const Definition = z.strictObject({ stream: isFunction });

/** @throws {ExtensionError} naming what is wrong with the definition */
export function defineModel(definition: ModelModule): CustomModel {
  const checked = Definition.safeParse(definition);
  if (!checked.success) throw new ExtensionError(`the definition of a model is wrong: ${faultsOf(checked.error)}`);
  return new CustomModel(definition);
}
