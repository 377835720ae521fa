import type { ComponentType } from 'react';

/** A page of operators, loaded when it is opened. */
export interface OperateSection {
  /** The address below `/operate`, one segment; the page may have routes of its own below it. */
  readonly path: string;
  readonly label: string;
  readonly load: () => Promise<{ readonly Component: ComponentType }>;
}

/** The pages of operators in the order of their navigation. A new page is one entry. */
export const operateSections: readonly OperateSection[] = [];
