import { parsePattern, type Edge, type PatternNode } from './pattern-syntax.js';

/** Steps of a pattern; with more of them, as by `(a{50}){50}`, it is none. */
const MAX_STEPS = 256;

type Step =
  | { readonly kind: 'char'; readonly fits: (char: string) => boolean }
  | { readonly kind: 'edge'; readonly edge: Edge }
  /** Goes on at both places. */
  | { readonly kind: 'fork'; readonly to: readonly number[] }
  | { readonly kind: 'found' };

/**
 * Whether a text has a place that a regular expression fits, case aside, in time proportional to text and pattern: all
 * ways are followed at once, so no pattern makes it go back (Thompson, "Regular expression search algorithm", 1968).
 *
 * @returns undefined when the source is no regular expression, needs going back (references, lookarounds), or is too large
 */
export function linearPattern(source: string): ((text: string) => boolean) | undefined {
  const node = parsePattern(source);
  if (node === undefined || stepsOf(node) >= MAX_STEPS) return undefined;
  const steps: Step[] = [];
  emit(node, steps);
  steps.push({ kind: 'found' });
  return (text) => isFound(steps, text);
}

function stepsOf(node: PatternNode): number {
  switch (node.kind) {
    case 'char':
    case 'edge':
      return 1;
    case 'sequence':
      return sum(node.parts.map(stepsOf));
    case 'choice':
      return sum(node.of.map(stepsOf)) + 2 * node.of.length;
    case 'repeat': {
      const copies = node.max === Infinity ? node.min + 1 : node.max;
      return copies * (stepsOf(node.node) + 3);
    }
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function emit(node: PatternNode, steps: Step[]): void {
  switch (node.kind) {
    case 'char':
    case 'edge':
      steps.push(node);
      return;
    case 'sequence':
      for (const part of node.parts) emit(part, steps);
      return;
    case 'choice':
      emitChoice(node.of, steps);
      return;
    case 'repeat':
      for (let copy = 0; copy < node.min; copy += 1) emit(node.node, steps);
      if (node.max === Infinity) emitLoop(node.node, steps);
      else for (let copy = node.min; copy < node.max; copy += 1) emitChoice([node.node, EMPTY], steps);
  }
}

const EMPTY: PatternNode = { kind: 'sequence', parts: [] };

function emitChoice(branches: readonly PatternNode[], steps: Step[]): void {
  const starts: number[] = [];
  const ends: number[] = [];
  const fork = steps.push({ kind: 'fork', to: starts }) - 1;
  for (const branch of branches) {
    starts.push(steps.length);
    emit(branch, steps);
    ends.push(steps.push({ kind: 'fork', to: [] }) - 1);
  }
  steps[fork] = { kind: 'fork', to: starts };
  for (const end of ends) steps[end] = { kind: 'fork', to: [steps.length] };
}

function emitLoop(node: PatternNode, steps: Step[]): void {
  const fork = steps.push({ kind: 'fork', to: [] }) - 1;
  emit(node, steps);
  steps.push({ kind: 'fork', to: [fork] });
  steps[fork] = { kind: 'fork', to: [fork + 1, steps.length] };
}

function isFound(steps: readonly Step[], text: string): boolean {
  let reached: readonly number[] = [];
  for (let at = 0; at <= text.length; at += 1) {
    const waiting = follow(steps, [...reached, 0], { text, at });
    if (waiting === 'found') return true;
    reached = advance(steps, waiting, text.charAt(at));
  }
  return false;
}

interface Place {
  readonly text: string;
  readonly at: number;
}

/** The `char` steps that can be reached from `from` without reading on. */
function follow(steps: readonly Step[], from: readonly number[], place: Place): readonly number[] | 'found' {
  const seen = new Set(from);
  const waiting: number[] = [];
  for (const index of seen) {
    const step = steps[index];
    if (step?.kind === 'found') return 'found';
    if (step?.kind === 'char') waiting.push(index);
    else if (step?.kind === 'fork') for (const next of step.to) seen.add(next);
    else if (step !== undefined && isAt(step.edge, place)) seen.add(index + 1);
  }
  return waiting;
}

const advance = (steps: readonly Step[], waiting: readonly number[], char: string): readonly number[] =>
  waiting.flatMap((index) => {
    const step = steps[index];
    return step?.kind === 'char' && char !== '' && step.fits(char) ? [index + 1] : [];
  });

function isAt(edge: Edge, { text, at }: Place): boolean {
  if (edge === 'start') return at === 0;
  if (edge === 'end') return at === text.length;
  const atWord = /\w/.test(text.charAt(at - 1)) !== /\w/.test(text.charAt(at));
  return atWord === (edge === 'word');
}
