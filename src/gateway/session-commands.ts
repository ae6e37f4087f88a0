/** Commands about the conversation itself: begin anew, go back, name it, find it again, its model and its cost. */
import { compactHistory } from '../agent/compact.ts';
import { HermesError } from '../contract/errors.ts';
import type { Model } from '../contract/model.ts';
import type { Hooks } from '../contract/plugin.ts';
import type { Session } from '../store/sessions.ts';
import type { Store } from '../store/store.ts';
import type { Command, CommandCall } from './command.ts';
import { tellReset } from './open-session.ts';
import type { RunningTurns, StopReason } from './running-turns.ts';

export interface SessionCommandDeps {
  store: Store;
  hooks: Hooks;
  running: RunningTurns;
  modelOf(name: string | null): Model;
  now(): number;
}

type Stop = (call: CommandCall, reason: StopReason) => Promise<unknown>;

const noSession = 'There is no conversation here yet.';
const maxListed = 10;

export function sessionCommands(deps: SessionCommandDeps, stop: Stop): Command[] {
  return [...lifeCommands(deps, stop), ...historyCommands(deps), ...factCommands(deps)];
}

function lifeCommands({ store, hooks, running, now }: SessionCommandDeps, stop: Stop): Command[] {
  return [
    {
      name: 'new',
      aliases: ['reset'],
      description: 'Start a new conversation',
      isControl: true,
      async run(call) {
        await stop(call, 'new');
        const ended = await store.sessions.end(call.lane, 'new', now());
        if (ended) await tellReset(hooks, ended.old, ended.fresh, 'new');
        return 'A new conversation begins.';
      },
    },
    {
      name: 'title',
      description: 'Show or set the conversation\'s title',
      async run({ session, args }) {
        if (!session) return noSession;
        if (args === '') return session.title || 'It has no title yet.';
        const title = [...args.replace(/\s+/g, ' ')].slice(0, 100).join('');
        await store.sessions.update(session.id, { title });
        return `Titled "${title}".`;
      },
    },
    {
      name: 'sessions',
      description: 'List your conversations, or search their titles',
      run({ owner, args }) {
        const found = store.sessions.list({ owner, limit: maxListed, ...(args ? { search: args } : {}) });
        return found.map(toLine).join('\n') || 'No conversation was found.';
      },
    },
    {
      name: 'resume',
      description: 'Go on with an earlier conversation: its id or title',
      async run({ owner, args, lane }) {
        if (args === '') return 'Say which one: /resume and an id or title of /sessions.';
        const found = store.sessions.list({ owner, limit: maxListed, search: args });
        const wanted = found.find(({ id, title }) => id === args || title === args) ?? (found.length === 1 ? found[0] : undefined);
        if (!wanted) return found.length === 0 ? 'You have no such conversation.' : `Which one?\n${found.map(toLine).join('\n')}`;
        if (running.all().some((turn) => turn.sessionId === wanted.id && turn.lane !== lane)) return 'It is being answered in another chat right now. Try again when that has ended.';
        const resumed = await store.sessions.resume(wanted.id, lane, owner, now());
        return resumed ? `Going on with "${resumed.title || resumed.id}".` : 'You have no such conversation.';
      },
    },
  ];
}

function historyCommands({ store, modelOf }: SessionCommandDeps): Command[] {
  return [
    {
      name: 'retry',
      description: 'Answer your last message again',
      async run({ session, row }) {
        const undone = session && (await store.transcript.undoLast(session.id, row));
        return undone ? { run: undone.text } : 'There is nothing to try again.';
      },
    },
    {
      name: 'undo',
      description: 'Forget your last message and its answer',
      async run({ session, row }) {
        const undone = session && (await store.transcript.undoLast(session.id, row));
        return undone ? `Forgotten: "${undone.text.slice(0, 80)}".` : 'There is nothing to undo.';
      },
    },
    {
      name: 'compact',
      aliases: ['compress'],
      description: 'Shorten the conversation to a summary of its older part',
      async run({ session }) {
        if (!session) return noSession;
        const model = modelOf(session.model);
        const history = store.transcript.history(session.id, session.summaryBefore, model.contextWindow * 4);
        const outcome = await compactHistory({ history, model, signal: AbortSignal.timeout(120_000), keepTokens: Math.floor(model.contextWindow / 4) });
        if (outcome.status === 'nothing') return 'It is short enough already.';
        if (outcome.status === 'failed') return 'The model could not be asked for a summary now; nothing was changed.';
        const first = outcome.firstKeptTurnId === null ? null : store.transcript.firstEntryOf(outcome.firstKeptTurnId);
        if (first === null) return 'It is short enough already.';
        await store.sessions.compacted(session.id, outcome.summary, first);
        return outcome.summarised ? 'The older part is a summary now.' : 'The older part was left out; no summary could be made.';
      },
    },
  ];
}

function factCommands({ store, modelOf }: SessionCommandDeps): Command[] {
  return [
    {
      name: 'model',
      description: 'Show or choose the model of this conversation',
      async run({ session, args }) {
        if (args === '') return `The model is ${modelOf(session?.model ?? null).id}.`;
        if (!session) return noSession;
        try {
          const model = modelOf(args);
          await store.sessions.update(session.id, { model: args });
          return `The model is ${model.id} now, in this conversation.`;
        } catch (thrown) {
          if (thrown instanceof HermesError) return thrown.message;
          throw thrown;
        }
      },
    },
    {
      name: 'usage',
      description: 'Show how many tokens this conversation took',
      run({ session }) {
        if (!session) return noSession;
        return `${session.turns} turns, ${session.inputTokens} tokens in (${session.cachedTokens} from the cache), ${session.outputTokens} tokens out.`;
      },
    },
  ];
}

function toLine({ id, title, lastActiveAt, turns }: Session): string {
  return `${id} - ${title || 'untitled'} (${turns} turns, ${new Date(lastActiveAt).toISOString().slice(0, 16).replace('T', ' ')})`;
}
