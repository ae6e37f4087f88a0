/**
 * One question to the gateway and its answer as it grows. Each question has an Idempotency-Key of its own: when the line breaks,
 * or the page is loaded again, the same question is asked with the same key and gets the answer of the turn that runs already.
 */

export interface Question {
  /** Idempotency-Key. */
  key: string;
  session: string;
  text: string;
}

export interface ToolProgress {
  id: string;
  name: string;
  emoji: string;
  label: string;
  /** `running` until it has ended. */
  status: string;
  durationMs: number | null;
}

/** What is heard while the answer is made. */
export interface Hearing {
  /** All text so far. */
  onText(text: string): void;
  onTool(tool: ToolProgress): void;
  onNotice(text: string): void;
  onQuestion(text: string, choices: string[]): void;
}

export type Ending =
  | { status: 'answered'; text: string }
  | { status: 'stopped' }
  | { status: 'failed'; message: string }
  /** The cookie is not good, or no longer. */
  | { status: 'logged_out' }
  /** The gateway could not be reached, or the line broke: asking again with the same key is safe. */
  | { status: 'unreachable' };

/** Never rejects. */
export async function ask({ key, session, text }: Question, hearing: Hearing): Promise<Ending> {
  let response: Response;
  try {
    response = await fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-hermes-session-id': session, 'idempotency-key': key },
      body: JSON.stringify({ stream: true, messages: [{ role: 'user', content: text }] }),
    });
  } catch {
    return { status: 'unreachable' };
  }
  if (response.status === 401) return { status: 'logged_out' };
  if (!response.ok || !response.body) return toFailure(await response.json().catch(() => null));
  let answer = '';
  try {
    for await (const { name, data } of readEvents(response.body)) {
      if (data === '[DONE]') return { status: 'answered', text: answer };
      const chunk = JSON.parse(data) as Chunk;
      if (chunk.error) return toFailure(chunk);
      if (name === 'hermes.tool.progress') hearing.onTool(toTool(chunk));
      else if (name === 'hermes.notice') hearing.onNotice(chunk.text ?? '');
      else if (name === 'hermes.question') hearing.onQuestion(chunk.text ?? '', chunk.options ?? []);
      else {
        // The content of a replacement is for clients that do not know of it.
        answer = name === 'hermes.text.replaced' ? answer.slice(0, chunk.keep ?? 0) + (chunk.text ?? '') : answer + (chunk.choices?.[0]?.delta?.content ?? '');
        hearing.onText(answer);
      }
    }
  } catch {
    return { status: 'unreachable' };
  }
  return { status: 'unreachable' };
}

interface Chunk {
  error?: { message?: string; code?: string };
  choices?: { delta?: { content?: string } }[];
  text?: string;
  options?: string[];
  keep?: number;
  tool?: string;
  toolCallId?: string;
  emoji?: string;
  label?: string;
  status?: string;
  durationMs?: number;
}

function toTool({ toolCallId = '', tool = '', emoji = '', label = '', status = '', durationMs }: Chunk): ToolProgress {
  return { id: toolCallId, name: tool, emoji, label, status, durationMs: durationMs ?? null };
}

function toFailure(body: { error?: { message?: string; code?: string } } | null): Ending {
  const { message, code } = body?.error ?? {};
  if (code === 'gateway_stopping') return { status: 'unreachable' };
  if (code === 'TURN_INTERRUPTED') return { status: 'stopped' };
  return { status: 'failed', message: message ?? 'The gateway gave an answer that this page does not understand.' };
}

/** Server-sent events out of bytes. Source: https://html.spec.whatwg.org/multipage/server-sent-events.html */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<{ name: string | null; data: string }> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = toNamedData(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function toNamedData(block: string): { name: string | null; data: string } | null {
  let name: string | null = null;
  const data: string[] = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) name = line.slice(7);
    else if (line.startsWith('data: ')) data.push(line.slice(6));
  }
  return data.length > 0 ? { name, data: data.join('\n') } : null;
}
