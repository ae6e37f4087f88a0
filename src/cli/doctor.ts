/** `hermes doctor`: is this home fit to run, and what to do where it is not. Looks and changes nothing. */
import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { toMessage } from '../contract/errors.ts';
import { inspecting, print, withExample, type CliContext } from './context.ts';

/** `bad`: it will not work; `hint`: worth knowing. */
interface Finding {
  level: 'good' | 'hint' | 'bad';
  text: string;
}

const marks = { good: '✓', hint: '·', bad: '✗' } as const;
const leastFreeBytes = 500 * 1024 * 1024;

export function addDoctor(program: Command, context: CliContext): void {
  withExample(program.command('doctor').description('is this home fit to run, and what to do where it is not'), 'hermes doctor').action(async () => {
    const { home } = context.globals();
    const findings = [lookAtNode(), ...(existsSync(home) ? lookAtFiles(home) : [hint(`${home} is not there yet; the first start makes it`)])];
    // A configuration that cannot be used keeps everything behind it from being looked at.
    const config = await context.deps.loadConfig(context.globals()).catch((thrown: unknown) => bad(toMessage(thrown)));
    if ('level' in config) findings.push(config);
    else if (existsSync(home)) findings.push(good(`${config.path} can be used`), ...(await lookInside(context)), await lookAtDaemon(context));
    for (const { level, text } of findings) print(context, `${marks[level]} ${text}`);
    context.finish(findings.some(({ level }) => level === 'bad') ? 1 : 0);
  });
}

const good = (text: string): Finding => ({ level: 'good', text });
const hint = (text: string): Finding => ({ level: 'hint', text });
const bad = (text: string): Finding => ({ level: 'bad', text });

function lookAtNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isNew = major > 20 || (major === 20 && minor >= 19);
  return isNew ? good(`Node.js ${process.versions.node}`) : bad(`Node.js ${process.versions.node} is too old; 20.19 or newer is needed`);
}

function lookAtFiles(home: string): Finding[] {
  const files = readdirSync(home, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [join(home, entry.name)] : []));
  const open = [home, ...files].filter((path) => (statSync(path).mode & 0o077) !== 0);
  const { bavail, bsize } = statfsSync(home);
  const free = bavail * bsize;
  return [
    open.length > 0 ? bad(`others on this machine may read ${open.join(', ')}: chmod go-rwx ${open.join(' ')}`) : good(`${home} is this user's alone`),
    free < leastFreeBytes ? bad(`only ${Math.round(free / 1024 / 1024)} MB are free on the disk of ${home}; messages are not taken when it is full`) : good(`${Math.round(free / 1024 ** 3)} GB are free`),
  ];
}

/** The database opens and is checked, plugins load as they would. */
async function lookInside(context: CliContext): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    await inspecting({ ...context, deps: { ...context.deps, stderr: (text) => void findings.push(hint(text.trimEnd())) } }, [], async (home) => {
      findings.push(good('the database can be used'));
      for (const { name, state, reason } of home.plugins()) findings.push(state === 'loaded' ? good(`plugin ${name}`) : bad(`plugin ${name} is off: ${reason ?? 'no reason known'}`));
      const dead = (await home.outbox()).filter(({ state }) => state === 'dead' || state === 'unknown');
      if (dead.length > 0) findings.push(hint(`${dead.length} replies did not arrive, or may not have: hermes outbox list`));
    });
  } catch (thrown) {
    findings.push(bad(toMessage(thrown)));
  }
  return findings;
}

async function lookAtDaemon(context: CliContext): Promise<Finding> {
  try {
    const answer = await context.deps.callDaemon(context.globals(), 'GET', '/readyz');
    const { adapters = {} } = answer as { adapters?: Record<string, { state: string; reason?: string }> };
    const states = Object.entries(adapters).map(([platform, { state, reason }]) => `${platform} ${state}${reason ? ` (${reason})` : ''}`);
    return (Object.values(adapters).some(({ state }) => state === 'degraded') ? bad : good)(`the daemon runs: ${states.join(', ')}`);
  } catch (thrown) {
    return hint(toMessage(thrown));
  }
}
