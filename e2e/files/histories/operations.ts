import fc from 'fast-check';

/** One change of a thread's files by a command. Numbers choose among the paths, and among the files that are there. */
export interface FileChange {
  readonly kind: 'write' | 'remove' | 'rename';
  readonly at: number;
  readonly to: number;
  /** Bytes of what is written. */
  readonly size: number;
}

/** Where a run starts: at the head, an older checkpoint, or as the page regenerates an answer or edits a message. */
export type RunStart = 'head' | 'checkpoint' | 'regenerate' | 'edit';

/**
 * How a run ends. `cancel` is a cancellation with rollback, `replace` a rollback by the run that comes next, and `dies` a
 * cancellation with rollback after the machine's manager was killed in the middle of a command.
 */
export type RunEnd = 'success' | 'cancel' | 'replace' | 'dies';

interface OnThread {
  /** Chooses the thread. */
  readonly thread: number;
}

interface AtPoint extends OnThread {
  /** Chooses among the points of the thread, such as its checkpoints. */
  readonly at: number;
}

export type Operation =
  | ({
      readonly kind: 'run';
      readonly start: RunStart;
      readonly end: RunEnd;
      readonly machine: number;
      /** What each command of the run changes. */
      readonly commands: readonly (readonly FileChange[])[];
    } & AtPoint)
  | ({ readonly kind: 'upload'; readonly size: number } & AtPoint)
  | ({ readonly kind: 'removeUpload' } & AtPoint)
  | ({ readonly kind: 'editArtifact'; readonly size: number } & AtPoint)
  | ({ readonly kind: 'restoreFile'; readonly file: number } & AtPoint)
  | ({ readonly kind: 'restoreAll' } & AtPoint)
  | ({ readonly kind: 'updateState' } & AtPoint)
  | ({ readonly kind: 'branch' } & AtPoint)
  | ({ readonly kind: 'copy' } & OnThread)
  | ({ readonly kind: 'delete' } & OnThread)
  | ({ readonly kind: 'keepLatest' } & OnThread)
  | { readonly kind: 'create' }
  | { readonly kind: 'collect' }
  | { readonly kind: 'restart'; readonly machine: number };

const choice = fc.nat(1_000);
/** Contents that share an object, and ones with an object each. */
const size = fc.constantFrom(0, 3, 700, 70_000);
const change: fc.Arbitrary<FileChange> = fc.record({
  kind: fc.constantFrom('write', 'write', 'write', 'remove', 'rename'),
  at: choice,
  to: choice,
  size,
});
const commands = fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 3 });
const machine = fc.nat(1);
const at = { thread: choice, at: choice };

const run = (start: RunStart, end: RunEnd) =>
  fc.record({
    kind: fc.constant('run' as const),
    start: fc.constant(start),
    end: fc.constant(end),
    machine,
    commands,
    ...at,
  });
const kind = <Kind extends string>(...kinds: Kind[]) => fc.constantFrom(...kinds);

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: run('head', 'success') },
  { weight: 3, arbitrary: run('checkpoint', 'success') },
  { weight: 3, arbitrary: run('regenerate', 'success') },
  { weight: 3, arbitrary: run('edit', 'success') },
  {
    weight: 5,
    arbitrary: fc
      .tuple(kind('head', 'checkpoint', 'regenerate', 'edit'), kind('cancel', 'replace', 'dies'))
      .chain(([start, end]) => run(start, end)),
  },
  { weight: 2, arbitrary: fc.record({ kind: kind('upload'), size, ...at }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('removeUpload'), ...at }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('editArtifact'), size, ...at }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('restoreFile'), file: choice, ...at }) },
  {
    weight: 4,
    arbitrary: fc.oneof(
      fc.record({ kind: kind('restoreAll'), ...at }),
      fc.record({ kind: kind('updateState'), ...at }),
      fc.record({ kind: kind('branch'), ...at }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.oneof(
      fc.record({ kind: kind('copy'), thread: choice }),
      fc.record({ kind: kind('delete'), thread: choice }),
      fc.record({ kind: kind('keepLatest'), thread: choice }),
    ),
  },
  { weight: 2, arbitrary: fc.oneof(fc.record({ kind: kind('create') }), fc.record({ kind: kind('collect') })) },
  { weight: 1, arbitrary: fc.record({ kind: kind('restart'), machine }) },
);

/** What happens to the threads of a user, one after the other. */
export const history = fc.array(operation, { minLength: 1, maxLength: 20, size: 'max' });
