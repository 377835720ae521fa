import { Button } from '../../../components/button.js';
import { Notice } from '../../../components/notice.js';
import { talk } from '../../../text/talk.js';
import styles from './conversation.module.css';

interface WelcomeProps {
  readonly isScripted: boolean;
  readonly onChoose: (text: string) => void;
}

/** What a first-time visitor reads: what this is, and prompts that are sent by one click. */
export const Welcome = ({ isScripted, onChoose }: WelcomeProps) => (
  <div className={styles['welcome']}>
    <h2>{talk.welcome}</h2>
    <p>{talk.welcomeAbout}</p>
    {isScripted ? <Notice>{talk.scriptedNote}</Notice> : null}
    <p>{talk.tryOne}</p>
    <ul className={styles['examples']}>
      {talk.examples.map((text) => (
        <li key={text}>
          <Button onClick={() => onChoose(text)}>{text}</Button>
        </li>
      ))}
    </ul>
  </div>
);
