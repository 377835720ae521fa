import type { RequestReply } from '@caribou/contracts';
import { useInfiniteQuery } from '@tanstack/react-query';
import { loadRequest, type Traced } from '../../api/trace.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Failure, Loading, Notice } from '../../components/notice.js';
import { explain } from '../../text/explain.js';
import { BoundedText } from './bounded-text.js';
import styles from './runs.module.css';

const texts = explain.request;

/** A request as the model saw it: prompt, tools and messages, a page of them at a time. */
export function RequestView({ traced, call }: { readonly traced: Traced; readonly call: number }) {
  const request = useInfiniteQuery({
    queryKey: ['request', traced, call],
    queryFn: ({ pageParam, signal }) => loadRequest(traced, call, pageParam, signal),
    initialPageParam: 0,
    getNextPageParam: (last) => last.next_offset,
    // What a run has sent does not change.
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (request.isPending) return <Loading />;
  if (request.error !== null) return <Failure error={request.error} onRetry={() => void request.refetch()} />;
  const [first] = request.data.pages;
  if (first === undefined) return null;
  return (
    <section aria-label={texts.title(call)}>
      <h3>{texts.title(call)}</h3>
      <Missing missing={request.data.pages.flatMap(({ missing }) => missing)} />
      <RequestHead request={first} />
      <details open>
        <summary>{texts.messages(first.total_messages)}</summary>
        <ol className={styles['messages']}>
          {request.data.pages
            .flatMap(({ messages }) => messages)
            .map((message) => (
              <RequestMessage key={message.index} entry={message} />
            ))}
        </ol>
        {request.hasNextPage ? (
          <Button disabled={request.isFetchingNextPage} onClick={() => void request.fetchNextPage()}>
            {texts.more}
          </Button>
        ) : null}
      </details>
    </section>
  );
}

function Missing({ missing }: Pick<RequestReply, 'missing'>) {
  if (missing.length === 0) return null;
  return (
    <Notice tone="warn">
      <ul>
        {missing.map(({ part, reason, from }) => (
          <li key={`${part} ${from ?? ''}`}>{texts.missing(part, texts.missingReasons[reason])}</li>
        ))}
      </ul>
    </Notice>
  );
}

const RequestHead = ({
  request: { model, provider_model: providerModel, parameters, system, tools },
}: {
  readonly request: RequestReply;
}) => (
  <>
    <dl className={styles['fields']}>
      <div>
        <dt>{texts.model}</dt>
        <dd>{providerModel === null ? model : `${model} (${providerModel})`}</dd>
      </div>
      <div>
        <dt>{texts.parameters}</dt>
        <dd>
          <BoundedText text={JSON.stringify(parameters, null, 2)} />
        </dd>
      </div>
    </dl>
    <details>
      <summary>{texts.system}</summary>
      {system === null ? texts.notStored : <BoundedText text={system} />}
    </details>
    <details>
      <summary>{texts.tools(tools?.length ?? 0)}</summary>
      {tools === null ? texts.notStored : tools.map((tool) => <Tool key={tool.name} tool={tool} />)}
    </details>
  </>
);

const Tool = ({
  tool: { name, description, parameters },
}: {
  readonly tool: NonNullable<RequestReply['tools']>[number];
}) => (
  <details className={styles['nested']}>
    <summary>{name}</summary>
    <BoundedText text={description} />
    <BoundedText text={JSON.stringify(parameters, null, 2)} />
  </details>
);

const RequestMessage = ({ entry: { message, from } }: { readonly entry: RequestReply['messages'][number] }) => (
  <li>
    <Badge tone="accent">{message?.type ?? texts.notStored}</Badge>{' '}
    {from === 'chain' ? <Badge tone="warn">{texts.fromChain}</Badge> : null}
    {message === null ? null : <BoundedText text={textOfMessage(message)} />}
  </li>
);

type Shown = NonNullable<RequestReply['messages'][number]['message']>;

/** The content as it was sent, with the tool calls of an answer. */
function textOfMessage(message: Shown): string {
  const content = typeof message.content === 'string' ? message.content : JSON.stringify(message.content, null, 2);
  if (message.type !== 'ai' || message.tool_calls.length === 0) return content;
  return [content, JSON.stringify(message.tool_calls, null, 2)].filter((part) => part !== '').join('\n');
}
