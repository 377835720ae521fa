import { useQuery } from '@tanstack/react-query';
import { getInfo } from '../api/info.js';
import { addressOf } from '../api/request.js';
import { Dialog } from '../components/dialog.js';
import { Failure, Loading } from '../components/notice.js';
import { frame } from '../text/frame.js';
import styles from './dialogs.module.css';

const links = [
  { to: 'docs', label: frame.aboutDocs },
  { to: 'openapi.json', label: frame.aboutOpenApi },
  { to: 'health', label: frame.aboutHealth },
  { to: 'ready', label: frame.aboutReady },
] as const;

interface AboutDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** The version of the gateway, and where its API is described. */
export const AboutDialog = ({ isOpen, onClose }: AboutDialogProps) => (
  <Dialog title={frame.about} isOpen={isOpen} onClose={onClose}>
    {isOpen ? <Version /> : null}
    <ul className={styles['links']}>
      {links.map(({ to, label }) => (
        <li key={to}>
          <a href={addressOf(to)} target="_blank" rel="noreferrer">
            {label}
          </a>
        </li>
      ))}
    </ul>
  </Dialog>
);

function Version() {
  const { data, error, refetch } = useQuery({ queryKey: ['info'], queryFn: ({ signal }) => getInfo({ signal }) });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  return data === undefined ? <Loading /> : <p>{frame.version(data.version)}</p>;
}
