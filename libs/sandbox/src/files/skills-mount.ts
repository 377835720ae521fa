/** What is mounted at /mnt/skills. */
export interface SkillsMount {
  /** Host path. */
  readonly directory: string;
  /** Tells this directory from one that is made in its place later. */
  readonly instance: string;
}
