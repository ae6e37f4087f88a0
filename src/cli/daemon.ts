/** Commands that only the running daemon can carry out; they go through its HTTP API with the home's key. */
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { HermesError } from '../contract/errors.ts';
import { print, withExample, type CliContext } from './context.ts';

export function addDaemonCommands(program: Command, context: CliContext): void {
  const call = (method: string, path: string, body?: unknown) => context.deps.callDaemon(context.globals(), method, path, body);
  const show = (answer: unknown) => print(context, typeof answer === 'string' ? answer : stringify(answer).trimEnd());

  const status = program.command('status').description('whether the daemon runs, and the state of each platform');
  withExample(status, 'hermes status').action(async () => show(await call('GET', '/readyz')));

  const send = program
    .command('send <text>')
    .description('send a message through the running daemon')
    .requiredOption('--to <address>', 'PLATFORM:CHAT or PLATFORM:CHAT:THREAD');
  withExample(send, 'hermes send --to telegram:123456789 "The backup is done"').action(async (text: string, flags: { to: string }) => {
    if (!/^[a-z0-9_-]+:\S+$/i.test(flags.to)) throw new HermesError('USAGE', '--to must be PLATFORM:CHAT or PLATFORM:CHAT:THREAD');
    await call('POST', '/api/send', { to: flags.to, text });
    print(context, 'in the outbox');
  });

  const pairing = withExample(program.command('pairing').description('people who asked to be let in'), 'hermes pairing list');
  withExample(pairing.command('list').description('who waits and who is in'), 'hermes pairing list').action(async () => show(await call('GET', '/api/pairing')));
  withExample(pairing.command('approve <platform> <code>').description('let in the person who was given this code'), 'hermes pairing approve telegram ABCD2345').action(
    async (platform: string, code: string) => show(await call('POST', '/api/pairing/approve', { platform, code })),
  );
  withExample(pairing.command('revoke <platform> <user>').description('take that back'), 'hermes pairing revoke telegram 123456789').action(
    async (platform: string, user: string) => show(await call('POST', '/api/pairing/revoke', { platform, user })),
  );
}
