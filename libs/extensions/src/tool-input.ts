import { ExtensionError } from '@caribou/contracts';
import { z } from 'zod';
import type { ToolInput } from './public-types.js';

const ObjectSchema = z.looseObject({ type: z.literal('object') });

/** How arguments are checked, and what the model is told of them. */
export interface MadeInput {
  readonly schema: z.ZodType;
  /** JSON Schema. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** @throws {ExtensionError} when the schema is none of an object, or cannot be told or checked */
export function inputOf(tool: string, input: ToolInput): MadeInput {
  try {
    const parameters = ObjectSchema.parse(input instanceof z.ZodType ? z.toJSONSchema(input, { io: 'input' }) : input);
    return { schema: input instanceof z.ZodType ? input : z.fromJSONSchema(parameters), parameters };
  } catch (error) {
    const what =
      error instanceof z.ZodError || !(error instanceof Error) ? 'it must describe an object' : error.message;
    throw new ExtensionError(`the input of the tool '${tool}' cannot be used: ${what.slice(0, 300)}`, { cause: error });
  }
}
