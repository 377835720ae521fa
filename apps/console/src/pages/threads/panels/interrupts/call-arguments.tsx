import { panels } from '../../../../text/panels.js';
import { HiddenText } from './hidden-text.js';
import { hasHiddenWithin } from './hidden-characters.js';
import styles from './interrupts.module.css';

const { interrupts: texts } = panels;

const shownValue = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'null');

/** The exact arguments of a call: each as a field, and all as JSON. */
export function CallArguments({ args }: { readonly args: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(args);
  return (
    <div className={styles['arguments']}>
      {hasHiddenWithin(args) ? (
        <p role="alert" className={styles['warning']}>
          {texts.hidden}
        </p>
      ) : null}
      {entries.length === 0 ? <p>{texts.noArguments}</p> : null}
      <dl className={styles['fields']}>
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>
              <HiddenText text={name} />
            </dt>
            <dd>
              <HiddenText text={shownValue(value)} />
            </dd>
          </div>
        ))}
      </dl>
      {entries.length === 0 ? null : (
        <details>
          <summary>{texts.raw}</summary>
          <pre className={styles['raw']} tabIndex={0} aria-label={texts.raw}>
            <HiddenText text={JSON.stringify(args, null, 2)} />
          </pre>
        </details>
      )}
    </div>
  );
}
