import type { ComponentProps } from 'react';
import styles from './button.module.css';

interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: 'plain' | 'primary' | 'danger' | 'quiet';
  /** Holds a symbol only: `aria-label` has to say what it does. */
  readonly isIcon?: boolean;
}

export const Button = ({ look = 'plain', isIcon = false, type = 'button', className, ...props }: ButtonProps) => (
  <button
    {...props}
    type={type}
    className={[styles['button'], styles[look], isIcon ? styles['icon'] : undefined, className]
      .filter(Boolean)
      .join(' ')}
  />
);
