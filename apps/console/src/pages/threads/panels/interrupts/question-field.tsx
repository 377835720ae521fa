import { panels } from '../../../../text/panels.js';
import type { FieldValue } from './form-answer.js';
import styles from './interrupts.module.css';
import type { QuestionField } from './waiting.js';

const { interrupts: texts } = panels;

interface FieldProps {
  readonly field: QuestionField;
  readonly value: FieldValue;
  readonly onChange: (value: FieldValue) => void;
}

/** One field of a form that the agent asks to be filled in. */
export function QuestionFieldInput({ field, value, onChange }: FieldProps) {
  const label = field.isRequired ? texts.required(field.label) : field.label;
  if (field.type === 'checkbox')
    return (
      <label className={styles['check']}>
        <input type="checkbox" checked={value === true} onChange={(event) => onChange(event.target.checked)} />
        {label}
      </label>
    );
  if (field.type === 'multi_select') return <Choices field={field} label={label} value={value} onChange={onChange} />;
  return (
    <label>
      {label}
      <TextInput field={field} value={typeof value === 'string' ? value : ''} onChange={onChange} />
    </label>
  );
}

function TextInput({ field, value, onChange }: FieldProps & { readonly value: string }) {
  const change = (event: { readonly target: { readonly value: string } }): void => onChange(event.target.value);
  const common = { value, onChange: change, required: field.isRequired, className: styles['text'] };
  switch (field.type) {
    case 'textarea':
      return <textarea {...common} rows={3} placeholder={field.placeholder} />;
    case 'select':
      return (
        <select {...common}>
          <option value="">{texts.choose}</option>
          {field.options.map((option) => (
            <option key={option.id} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      );
    case 'number':
      return <input {...common} type="number" step="any" placeholder={field.placeholder} />;
    case 'date':
      return <input {...common} type="date" />;
    default:
      return <input {...common} type="text" placeholder={field.placeholder} />;
  }
}

function Choices({ field, label, value, onChange }: FieldProps & { readonly label: string }) {
  const chosen: readonly string[] = Array.isArray(value) ? value : [];
  return (
    <fieldset className={styles['choices']}>
      <legend>{label}</legend>
      {field.options.map((option) => (
        <label key={option.id} className={styles['check']}>
          <input
            type="checkbox"
            checked={chosen.includes(option.value)}
            onChange={(event) =>
              onChange(
                event.target.checked ? [...chosen, option.value] : chosen.filter((each) => each !== option.value),
              )
            }
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}
