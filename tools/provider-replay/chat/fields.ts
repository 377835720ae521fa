import { z } from 'zod';

/** Schemas of chat completions that vendors share; objects are strict, so an unknown field is refused. */

export const textPart = z.strictObject({ type: z.literal('text'), text: z.string() });

export const imagePart = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.strictObject({ url: z.string().min(1), detail: z.enum(['auto', 'low', 'high']).optional() }),
});

export const functionName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]+$/)
  .max(64);

export const jsonObject = z.record(z.string(), z.unknown());

export const functionTool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: functionName,
    description: z.string().optional(),
    parameters: jsonObject.optional(),
    strict: z.boolean().nullish(),
  }),
});

export const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: z.string() }) }),
]);

export const stop = z.union([z.string(), z.array(z.string()).max(4)]).nullish();

export const responseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: functionName,
      description: z.string().optional(),
      schema: jsonObject.optional(),
      strict: z.boolean().nullish(),
    }),
  }),
]);

/** A number from `least` to `most`, or null. */
export const numberFrom = (least: number, most: number) => z.number().min(least).max(most).nullish();

export const tokenLimit = z.int().min(1).nullish();
