import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { readApiKey, setApiKey } from '../../api/credentials.js';
import { getInfo } from '../../api/info.js';
import { Button } from '../../components/button.js';
import { Failure, Loading, Notice } from '../../components/notice.js';
import { signIn } from '../../text/sign-in.js';
import { KeyForm, NewAccountForm, PasswordForm } from './credential-form.js';
import { getSetupStatus } from './sign-in-api.js';
import styles from './sign-in.module.css';
import { type SignInActions, useSignIn } from './use-sign-in.js';

interface Offer {
  readonly accounts: boolean;
  readonly needsSetup: boolean;
  readonly registration: boolean;
}

/** How people sign in at this server. */
async function readOffer(signal: AbortSignal): Promise<Offer> {
  const [{ flags }, status] = await Promise.all([getInfo({ signal }), getSetupStatus({ signal })]);
  return {
    accounts: flags['sign_in'] === true,
    needsSetup: status.needs_setup,
    registration: status.registration_enabled,
  };
}

/** A key that was refused is forgotten, as it would be sent with everything else. */
function forgetRefusedKey(): boolean {
  const hadKey = readApiKey() !== null;
  setApiKey(null);
  return hadKey;
}

interface SignInProps {
  /** The e-mail of the person whose session is over. */
  readonly email?: string | undefined;
}

/** Signing in, in the ways that this server offers. */
export function SignIn({ email }: SignInProps) {
  const [hadKey] = useState(forgetRefusedKey);
  const actions = useSignIn();
  const offer = useQuery({
    queryKey: ['sign-in'],
    queryFn: ({ signal }) => readOffer(signal),
    staleTime: 0,
    gcTime: 0,
  });
  if (offer.error !== null) return <Failure error={offer.error} onRetry={() => void offer.refetch()} />;
  if (offer.data === undefined) return <Loading />;
  return (
    <>
      {hadKey ? <Notice tone="warn">{signIn.keyRefused}</Notice> : null}
      <Ways offer={offer.data} actions={actions} email={email} startsWithKey={hadKey} />
    </>
  );
}

interface WaysProps extends SignInProps {
  readonly offer: Offer;
  readonly actions: SignInActions;
  readonly startsWithKey: boolean;
}

type Way = 'password' | 'key' | 'new';

function Ways({ offer, actions, email, startsWithKey }: WaysProps) {
  const [way, setWay] = useState<Way>(startsWithKey || !offer.accounts ? 'key' : 'password');
  if (way === 'password' && offer.needsSetup)
    return (
      <>
        <p>{signIn.setUpAbout}</p>
        <NewAccountForm submit={actions.asFirstAdministrator} action={signIn.setUp} />
        <Others ways={[['key', signIn.useKey]]} onChoose={setWay} />
      </>
    );
  return (
    <>
      {way === 'password' ? <PasswordForm email={email} submit={actions.withPassword} /> : null}
      {way === 'key' ? <KeyForm submit={actions.withKey} /> : null}
      {way === 'new' ? <NewAccountForm submit={actions.asNewUser} action={signIn.createAccount} /> : null}
      <Others ways={othersOf(way, offer)} onChoose={setWay} />
    </>
  );
}

/** What the server offers besides the way that is shown. */
function othersOf(way: Way, { accounts, registration }: Offer): readonly (readonly [Way, string])[] {
  const offered = [
    ['password', signIn.haveAccount, accounts],
    ['new', signIn.createAccount, registration],
    ['key', signIn.useKey, true],
  ] as const;
  return offered.flatMap(([other, label, isOffered]) => (isOffered && other !== way ? [[other, label] as const] : []));
}

interface OthersProps {
  readonly ways: readonly (readonly [Way, string])[];
  readonly onChoose: (way: Way) => void;
}

const Others = ({ ways, onChoose }: OthersProps) => (
  <div className={styles['others']}>
    {ways.map(([way, label]) => (
      <Button key={way} look="quiet" onClick={() => onChoose(way)}>
        {label}
      </Button>
    ))}
  </div>
);
