import type { WaitingReply } from '@caribou/contracts';

/** What an approval asks about, as the page shows it. */
export interface AskedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly description: string;
  readonly allowed: readonly string[];
  readonly schema: Readonly<Record<string, unknown>> | undefined;
  readonly callHash: string | undefined;
  readonly rules: readonly string[];
  readonly message: string;
  readonly isTruncated: boolean;
}

export interface QuestionOption {
  readonly id: string;
  readonly label: string;
  readonly value: string;
}

export interface QuestionField {
  readonly name: string;
  readonly label: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly placeholder: string;
  readonly options: readonly QuestionOption[];
}

/** A question of `ask_clarification`. */
export interface AskedQuestion {
  readonly question: string;
  readonly context: string;
  readonly options: readonly QuestionOption[];
  readonly fields: readonly QuestionField[];
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const textsOf = (value: unknown): readonly string[] => listOf(value).filter((each) => typeof each === 'string');
const objectOf = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {});

/** The call that an approval asks about; undefined when the value has another form, which is then shown as JSON. */
export function readCall({ kind, value }: Pick<WaitingReply, 'kind' | 'value'>): AskedCall | undefined {
  if (kind !== 'approval' || !isObject(value)) return undefined;
  const action = listOf(value['action_requests'])[0];
  const review = objectOf(listOf(value['review_configs'])[0]);
  if (!isObject(action) || typeof action['name'] !== 'string') return undefined;
  const reason = objectOf(value['reason']);
  const schema = review['args_schema'];
  const hash = value['call_hash'];
  return {
    name: action['name'],
    args: objectOf(action['args']),
    description: textOf(action['description']),
    allowed: textsOf(review['allowed_decisions']),
    schema: isObject(schema) ? schema : undefined,
    callHash: typeof hash === 'string' ? hash : undefined,
    rules: textsOf(reason['rules']),
    message: textOf(reason['message']),
    isTruncated: value['args_truncated'] === true,
  };
}

/** A question with its options or fields; undefined for other questions. */
export function readQuestion({ kind, value }: Pick<WaitingReply, 'kind' | 'value'>): AskedQuestion | undefined {
  if (kind !== 'question' || !isObject(value) || value['kind'] !== 'human_input_request') return undefined;
  return {
    question: textOf(value['question']),
    context: textOf(value['context']),
    options: optionsOf(value['options']),
    fields: listOf(value['fields']).filter(isObject).map(fieldOf),
  };
}

const fieldOf = (field: Readonly<Record<string, unknown>>): QuestionField => ({
  name: textOf(field['name']),
  label: textOf(field['label']) || textOf(field['name']),
  type: textOf(field['type']),
  isRequired: field['required'] === true,
  placeholder: textOf(field['placeholder']),
  options: optionsOf(field['options']),
});

const optionsOf = (value: unknown): readonly QuestionOption[] =>
  listOf(value)
    .filter(isObject)
    .map((option) => ({ id: textOf(option['id']), label: textOf(option['label']), value: textOf(option['value']) }));

/** The decision that a deadline makes: `approve` or `reject`; undefined for another answer. */
export function decisionOnExpiry({ on_expiry: answer }: Pick<WaitingReply, 'on_expiry'>): string | undefined {
  const decision = listOf(objectOf(answer)['decisions'])[0];
  const type = objectOf(decision)['type'];
  return typeof type === 'string' ? type : undefined;
}

/** The id of the call of `task` whose subagent asks; undefined when the agent itself does. */
export const askingTask = ({ namespace }: Pick<WaitingReply, 'namespace'>): string | undefined =>
  namespace.find((part) => part.startsWith('task:'))?.slice('task:'.length);
