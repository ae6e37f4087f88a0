/** `hermes sessions list|show|search|export|rename|delete|prune`: conversations that are kept. */
import type { Command } from 'commander';
import { HermesError } from '../contract/errors.ts';
import { inspecting, print, toColumns, toWholeNumber, withExample, type CliContext } from './context.ts';
import type { SessionDetail } from './deps.ts';

const everyEntry = 1_000_000;
const shownEntries = 40;

export function addSessions(program: Command, context: CliContext): void {
  const sessions = withExample(program.command('sessions').description('conversations that are kept'), 'hermes sessions list');

  const list = sessions
    .command('list')
    .description('sessions, the most recently used first')
    .option('-n, --limit <number>', 'how many', toWholeNumber, 20)
    .option('--json', 'print JSON');
  withExample(list, 'hermes sessions list --limit 5').action(async (flags: { limit: number; json?: boolean }) => {
    await inspecting(context, [], async (home) => {
      const facts = await home.sessions(flags.limit);
      if (flags.json) return print(context, JSON.stringify(facts, null, 2));
      if (facts.length === 0) return print(context, 'No sessions yet.');
      const rows = facts.map(({ id, lastActiveAt, platform, turns, title }) => [id, toTime(lastActiveAt), platform, String(turns), oneLine(title)]);
      print(context, toColumns([['id', 'last active', 'platform', 'turns', 'title'], ...rows]));
    });
  });

  const show = sessions.command('show <id>').description('what was said in a session, its end first of all').option('-n, --limit <number>', 'newest entries', toWholeNumber, shownEntries);
  withExample(show, 'hermes sessions show 20261130_101500_1a2b3c4d').action(async (id: string, flags: { limit: number }) => {
    await inspecting(context, [], (home) => {
      const { title, platform, turns, lastActiveAt, entries } = found(home.session(id, flags.limit), id);
      print(context, `${title || 'untitled'} (${platform}, ${turns} turns, last active ${toTime(lastActiveAt)})`);
      for (const { role, text, createdAt } of entries) if (text.trim() !== '') print(context, `\n[${toTime(createdAt)}] ${role}\n${text}`);
    });
  });

  const search = sessions.command('search <words>').description('entries of all sessions that hold every word, the newest first').option('-n, --limit <number>', 'how many', toWholeNumber, 20);
  withExample(search, 'hermes sessions search "lisbon weather"').action(async (words: string, flags: { limit: number }) => {
    await inspecting(context, [], (home) => {
      const hits = home.searchSessions(words, flags.limit);
      if (hits.length === 0) return print(context, 'Nothing holds these words.');
      print(context, toColumns(hits.map(({ sessionId, createdAt, role, text }) => [sessionId, toTime(createdAt), role, oneLine(text)])));
    });
  });

  const write = sessions.command('export <id>').description('the whole session as JSON on stdout');
  withExample(write, 'hermes sessions export 20261130_101500_1a2b3c4d > talk.json').action(async (id: string) => {
    await inspecting(context, [], (home) => context.deps.stdout(`${JSON.stringify(found(home.session(id, everyEntry), id), null, 2)}\n`));
  });

  const rename = sessions.command('rename <id> <title>').description('give a session another title');
  withExample(rename, 'hermes sessions rename 20261130_101500_1a2b3c4d "Lisbon"').action(async (id: string, title: string) => {
    await inspecting(context, [], async (home) => {
      if (!(await home.renameSession(id, oneLine(title)))) throw unknown(id);
      print(context, `${id} is called ${oneLine(title)}`);
    });
  });

  const remove = sessions.command('delete <ids...>').description('remove sessions with all that was said in them, for good');
  withExample(remove, 'hermes sessions delete 20261130_101500_1a2b3c4d').action(async (ids: string[]) => {
    await inspecting(context, [], async (home) => {
      for (const id of ids) {
        const outcome = await home.removeSession(id);
        if (outcome === 'unknown') throw unknown(id);
        if (outcome === 'busy') throw new HermesError('REQUEST_INVALID', `A turn runs in ${id}. Wait for its end, or stop it with /stop in its chat.`);
        print(context, `${id} is deleted`);
      }
    });
  });

  const prune = sessions.command('prune').description('delete the sessions that were not used for some days').requiredOption('--days <number>', 'unused for so many days', toWholeNumber);
  withExample(prune, 'hermes sessions prune --days 90').action(async (flags: { days: number }) => {
    await inspecting(context, [], async (home) => {
      let count = 0;
      for (const id of home.unusedSessions(flags.days)) if ((await home.removeSession(id)) === 'removed') count += 1;
      print(context, `${count} sessions deleted`);
    });
  });
}

function found(session: SessionDetail | null, id: string): SessionDetail {
  if (!session) throw unknown(id);
  return session;
}

function unknown(id: string): HermesError {
  return new HermesError('SESSION_UNKNOWN', `There is no session ${id}. hermes sessions list shows them.`);
}

/** UTC, to the minute. */
export function toTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
}

export function oneLine(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  return flat.length > 60 ? `${flat.slice(0, 59)}…` : flat;
}
