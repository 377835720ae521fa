import { ExtensionError } from '@caribou/contracts';
import { z } from 'zod';
import type { ToolInput } from './public-types.js';

const ObjectSchema = z.looseObject({ type: z.literal('object') });

/** The schema for checking arguments, and their description for the model. */
export interface ParsedInput {
  readonly schema: z.ZodType;
  /** JSON Schema. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** @throws {ExtensionError} when the schema does not describe an object, or cannot be converted */
export function inputOf(tool: string, input: ToolInput): ParsedInput {
  try {
    const parameters = ObjectSchema.parse(input instanceof z.ZodType ? z.toJSONSchema(input, { io: 'input' }) : input);
    return { schema: input instanceof z.ZodType ? input : z.fromJSONSchema(parameters), parameters };
  } catch (error) {
    const what =
      error instanceof z.ZodError || !(error instanceof Error) ? 'it must describe an object' : error.message;
    throw new ExtensionError(`the input of the tool '${tool}' cannot be used: ${what.slice(0, 300)}`, { cause: error });
  }
}
