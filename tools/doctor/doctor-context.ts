/** The environment that `npm run doctor` checks. */
export interface DoctorContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the repository; relative paths of the environment begin here. */
  readonly root: string;
  /** Absolute path of a program on the search path. */
  readonly findProgram: (name: string) => string | undefined;
  readonly isPortFree: (at: { readonly port: number; readonly host: string }) => Promise<boolean>;
}
