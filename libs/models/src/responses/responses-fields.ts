import { isRecord } from '@caribou/contracts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Names of chat completions for fields that Responses has under other names, as LangChain's `ChatOpenAI` translates them with
 * `use_responses_api` ("Migrate to the Responses API" of OpenAI, November 2026). `reasoning_effort` stays for the caller.
 */
export function withResponsesNames(fields: Fields): Fields {
  const { max_tokens: max, max_completion_tokens: newer, verbosity, response_format: format, ...rest } = fields;
  const text = {
    ...(isRecord(rest['text']) ? rest['text'] : {}),
    ...(verbosity === undefined ? {} : { verbosity }),
    ...(isRecord(format) ? { format: textFormatOf(format) } : {}),
  };
  return {
    ...(max === undefined ? {} : { max_output_tokens: max }),
    ...(newer === undefined ? {} : { max_output_tokens: newer }),
    ...rest,
    ...(Object.keys(text).length === 0 ? {} : { text }),
  };
}

/** A JSON schema is part of the format itself. */
function textFormatOf({ json_schema: schema, ...format }: Fields): Fields {
  return { ...format, ...(isRecord(schema) ? schema : {}) };
}
