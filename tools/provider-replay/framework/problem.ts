/** What goes wrong besides the vendor's rules about requests; each vendor reports it in its own shape. */
export type Problem =
  | { kind: 'unreadable-body'; message: string }
  | { kind: 'unknown-path'; method: string; path: string }
  | { kind: 'wrong-key' }
  | { kind: 'model-gone'; model: string }
  | { kind: 'context-overflow'; tokens: number; limit: number }
  | { kind: 'rate-limit'; retryAfterS?: number }
  | { kind: 'quota' }
  | { kind: 'overload' }
  | { kind: 'content-filter' }
  | { kind: 'refusal' }
  /** An event of the stream that is not JSON; the stream ends after it. */
  | { kind: 'malformed' }
  /** Any other HTTP status, as a script asks for by `#error`. */
  | { kind: 'status'; status: number; message: string; code?: string };

type ProblemOf<Kind extends Problem['kind']> = Extract<Problem, { kind: Kind }>;

/** What a vendor answers for each kind of problem. */
export type ProblemAnswers<Answer> = { readonly [Kind in Problem['kind']]: (problem: ProblemOf<Kind>) => Answer };

/** The vendor's answer for a problem. */
export function answerProblem<Answer, Kind extends Problem['kind']>(
  answers: ProblemAnswers<Answer>,
  problem: ProblemOf<Kind> & { kind: Kind },
): Answer {
  const answer: (problem: ProblemOf<Kind>) => Answer = answers[problem.kind];
  return answer(problem);
}

export const FAULT_KINDS = [
  'wrong-key',
  'model-gone',
  'context-overflow',
  'rate-limit',
  'quota',
  'overload',
  'content-filter',
  'refusal',
  'malformed',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/**
 * The problem of a line `#fault KIND [detail]` of a script; the detail is the seconds of Retry-After for `rate-limit`.
 *
 * @throws TypeError for another kind, or a detail that is no number.
 */
export function faultOf(kind: string, detail: string, model: string): Problem {
  if (!isFaultKind(kind)) throw new TypeError(`"${kind}" is not a fault; known are ${FAULT_KINDS.join(', ')}`);
  if (kind === 'model-gone') return { kind, model };
  if (kind === 'context-overflow') return { kind, tokens: 200_001, limit: 200_000 };
  if (kind !== 'rate-limit' || detail === '') return { kind };
  const retryAfterS = Number(detail);
  if (!(retryAfterS >= 0)) throw new TypeError(`the seconds after "rate-limit" are "${detail}", which is no number`);
  return { kind, retryAfterS };
}

function isFaultKind(kind: string): kind is FaultKind {
  return (FAULT_KINDS as readonly string[]).includes(kind);
}
