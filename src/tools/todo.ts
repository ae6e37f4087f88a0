/**
 * The task list of one session, kept in memory by the agent. After a restart it comes back from the last todo result in the
 * transcript, so nothing else has to store it.
 */
import type { ToolArgs } from '../contract/tool.ts';
import { cut, toErrorResult } from './result-text.ts';
import { parseJson, toRecord } from './safe-json.ts';

export interface Todo {
  /** Reads (no `todos`), replaces, or with `merge` updates the list; resolves with the tool's result. Never rejects. */
  run(args: ToolArgs): Promise<string>;
  /** Takes the list over from an earlier result of `run`; anything else leaves it as it is. */
  restore(lastResult: string): void;
}

const statuses = ['pending', 'in_progress', 'completed', 'cancelled'] as const;
type Status = (typeof statuses)[number];

interface Item {
  id: string;
  content: string;
  status: Status;
  parent?: string;
}

const mostItems = 256;
const longestContent = 4_000;
const longestRestored = 512_000;

export function createTodo(): Todo {
  let items: Item[] = [];
  let revision = 0;

  function take(given: readonly unknown[], merge: boolean): void {
    const byId = new Map(merge ? items.map((item) => [item.id, item]) : []);
    for (const value of given) {
      const raw = toRecord(value);
      if (!raw) continue;
      const id = toId(raw['id']);
      const known = merge ? byId.get(id) : undefined;
      // The last of several with one id wins, at its own place.
      if (!merge) byId.delete(id);
      byId.set(id, toItem(id, raw, known));
    }
    items = [...byId.values()].slice(0, mostItems);
    revision += 1;
  }

  return {
    async run({ todos, merge }) {
      const given = typeof todos === 'string' ? parseJson(todos) : todos;
      if (given === undefined && todos === undefined) return toResult(items, revision);
      if (!Array.isArray(given)) return toErrorResult('todos must be a list of {id, content, status}.');
      take(given, merge === true);
      return toResult(items, revision);
    },
    restore(lastResult) {
      if (lastResult.length > longestRestored) return;
      const result = toRecord(parseJson(lastResult));
      const todos = result?.['todos'];
      if (!Array.isArray(todos)) return;
      take(todos, false);
      revision = typeof result?.['revision'] === 'number' ? result['revision'] : 0;
    },
  };
}

function toItem(id: string, raw: Record<string, unknown>, known: Item | undefined): Item {
  const content = typeof raw['content'] === 'string' && raw['content'].trim() !== '' ? cut(raw['content'].trim(), longestContent) : (known?.content ?? '(no description)');
  const status = statuses.find((name) => name === raw['status']) ?? (raw['status'] === undefined ? known?.status : undefined) ?? 'pending';
  const parent = typeof raw['parent'] === 'string' ? raw['parent'] : known?.parent;
  return { id, content, status, ...(parent === undefined ? {} : { parent }) };
}

function toId(value: unknown): string {
  return typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : '?';
}

function toResult(items: readonly Item[], revision: number): string {
  const count = (status: Status) => items.filter((item) => item.status === status).length;
  const summary = { total: items.length, pending: count('pending'), in_progress: count('in_progress'), completed: count('completed'), cancelled: count('cancelled') };
  return JSON.stringify({ todos: items, revision, summary });
}
