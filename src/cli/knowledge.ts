/** `hermes skills list|show` and `hermes memory show|edit`: what the agent knows beside its model. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { Argument, type Command } from 'commander';
import { HermesError } from '../contract/errors.ts';
import { inspecting, print, toColumns, withExample, type CliContext } from './context.ts';
import { oneLine } from './sessions.ts';

export function addKnowledge(program: Command, context: CliContext): void {
  const skills = withExample(program.command('skills').description('texts that tell the agent how to do something'), 'hermes skills list');
  withExample(skills.command('list').description('every skill, and where it comes from'), 'hermes skills list').action(async () => {
    await inspecting(context, [], (home) => {
      const facts = home.skills();
      if (facts.length === 0) return print(context, 'No skills yet. A skill is a folder with a SKILL.md in the skills folder of the home.');
      print(context, toColumns([['name', 'from', 'description'], ...facts.map(({ name, source, description }) => [name, source, oneLine(description)])]));
    });
  });
  withExample(skills.command('show <name>').description('the text of a skill'), 'hermes skills show release-notes').action(async (name: string) => {
    await inspecting(context, [], (home) => {
      const body = home.skill(name);
      if (body === null) throw new HermesError('REQUEST_INVALID', `There is no skill ${name}. hermes skills list shows them.`);
      print(context, body);
    });
  });

  const memory = withExample(program.command('memory').description('what the agent has kept in mind'), 'hermes memory show');
  withExample(memory.command('show').description('its notes, and what it knows about the person'), 'hermes memory show').action(async () => {
    await inspecting(context, [], async (home) => print(context, (await home.memory()) || 'Nothing is kept yet.'));
  });
  const edit = memory.command('edit').description('open a file of it in $EDITOR; new sessions see the change').addArgument(new Argument('[file]', 'which one').choices(['memory', 'user']).default('memory'));
  withExample(edit, 'hermes memory edit user').action(async (file: 'memory' | 'user') => {
    await inspecting(context, [], (home) => {
      const path = home.memoryFiles[file];
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const editor = context.deps.env['VISUAL'] || context.deps.env['EDITOR'] || 'vi';
      // By a shell, because the variable may hold options too; the path is an argument of its own.
      const { status, error } = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit' });
      if (error || status !== 0) throw new HermesError('REQUEST_INVALID', `The editor (${editor}) ended with ${error ? error.message : `code ${status}`}. Set EDITOR to one that is there.`);
    });
  });
}
