import { panels } from '../../../../text/panels.js';
import type { Fault } from './argument-faults.js';
import styles from './interrupts.module.css';

/** Why an answer cannot be sent, each with its field. */
export const Faults = ({ faults, id }: { readonly faults: readonly Fault[]; readonly id?: string }) =>
  faults.length === 0 ? null : (
    <ul id={id} role="alert" className={styles['faults']}>
      {faults.map(({ field, text }) => (
        <li key={`${field} ${text}`}>{panels.interrupts.fault(field, text)}</li>
      ))}
    </ul>
  );
