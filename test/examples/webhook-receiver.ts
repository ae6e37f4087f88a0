/** The other program in front of the webhook platform: it posts what people write and keeps what it is posted, as a chat would show it. */
import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SendFault } from '../support/adapter-contract.ts';

export const secret = 'secret-of-both-sides-0123456789abcdef';

/** Made here by hand, so that the plugin's own code is not what judges it. */
export function toHeaders(body: string, { key = secret, at = Date.now() }: { key?: string; at?: number } = {}): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000));
  const hex = createHmac('sha256', key).update(Buffer.from(`${timestamp}.${body}`)).digest('hex');
  return { 'content-type': 'application/json', 'x-hermes-timestamp': timestamp, 'x-hermes-signature': `sha256=${hex}` };
}

export interface Posted {
  type: 'message' | 'edit';
  id: string;
  chat: { id: string; thread?: string };
  text: string;
  format: string;
  buttons?: { label: string; value: string }[][];
  file?: { name: string; mime: string; base64: string };
}

export interface Receiver {
  readonly url: string;
  /** Posts whose signature was good, in order. */
  readonly posts: Posted[];
  /** What people see in a chat now. */
  seen(chat: string): { messageId: string; text: string }[];
  deletes(chat: string, messageId: string): void;
  strikes(fault: SendFault): void;
  /** Serves bytes below `url`/files/; gives the address. */
  serves(bytes: Uint8Array): string;
  connections(): number;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const posts: Posted[] = [];
  const chats = new Map<string, { messageId: string; text: string }[]>();
  const files = new Map<string, Uint8Array>();
  let fault: SendFault | null = null;
  let open = 0;

  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { 'x-hermes-timestamp': at, 'x-hermes-signature': signature, connection } = request.headers;
    // On a kept connection a reset says nothing about what has arrived.
    if (connection !== 'close') return void response.writeHead(426).end();
    if (toHeaders(body, { at: Number(at) * 1000 })['x-hermes-signature'] !== signature) return void response.writeHead(401).end();
    const striking = fault;
    fault = null;
    const refusals: Partial<Record<SendFault, [number, Record<string, string>]>> = { limited: [429, { 'retry-after': '33' }], server_error: [502, {}], refused: [400, {}], gone: [410, {}] };
    const refusal = striking && refusals[striking];
    if (refusal) return void response.writeHead(...refusal).end(`refused: ${secret}`);
    const post = JSON.parse(body) as Posted;
    posts.push(post);
    response.writeHead(show(post) ? 200 : 404);
    if (striking === 'cut_after') response.destroy();
    else response.end();
  };

  const show = ({ type, id, chat, text }: Posted): boolean => {
    const messages = chats.get(chat.id) ?? [];
    chats.set(chat.id, messages);
    const old = messages.find(({ messageId }) => messageId === id);
    if (type === 'edit' && !old) return false;
    if (old) old.text = text;
    else messages.push({ messageId: id, text });
    return true;
  };

  const server = createServer((request, response) => {
    const file = files.get(request.url ?? '');
    if (request.method === 'GET') return void response.writeHead(file ? 200 : 404).end(file);
    void take(request, response);
  });
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => (open -= 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });

  return {
    url,
    posts,
    seen: (chat) => chats.get(chat) ?? [],
    deletes(chat, messageId) {
      chats.set(chat, (chats.get(chat) ?? []).filter((message) => message.messageId !== messageId));
    },
    strikes(next) {
      fault = next;
      if (next === 'unreachable') void close();
    },
    serves(bytes) {
      const path = `/files/${files.size}`;
      files.set(path, bytes);
      return url + path;
    },
    connections: () => open,
    close,
  };
}
