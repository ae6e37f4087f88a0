/**
 * Checks the container without a container engine: the rules of lint-container.mjs, and then the Dockerfile's own steps in a scratch
 * folder, up to a running program that is asked for its health and told to stop. What could not be done so is said at the end.
 *
 *   node scripts/check-container.mjs [--lint] [--root DIR]     --lint: the rules alone, in a moment
 */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { lintContainer } from './lint-container.mjs';
import { createIgnore, readDockerfile, toContext, toExec, toVariables } from './read-container.mjs';

const { values } = parseArgs({ options: { lint: { type: 'boolean', default: false }, root: { type: 'string', default: dirname(import.meta.dirname) } } });
const root = resolve(values.root);
const say = (text) => void process.stdout.write(`${text}\n`);

const problems = lintContainer(root);
for (const problem of problems) say(`✗ ${problem}`);
if (problems.length === 0) say('✓ the rules for Dockerfile, docker-compose.yml, .dockerignore and .env.example are kept');
if (problems.length > 0 || values.lint) process.exit(problems.length > 0 ? 1 : 0);
if (process.getuid?.() !== 0) {
  say("- not run: the Dockerfile's steps; they give files to another user, which only root can do");
  process.exit(0);
}

// Below /var/tmp: the program gets a /tmp of its own.
const scratch = mkdtempSync('/var/tmp/hermes-container-');
try {
  await runSteps();
} catch (error) {
  say(`✗ ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

async function runSteps() {
  chmodSync(scratch, 0o755);
  const context = join(scratch, 'context');
  for (const path of toContext(root, createIgnore(readFileSync(join(root, '.dockerignore'), 'utf8')))) cpSync(join(root, path), join(context, path), { recursive: true });
  const stages = readDockerfile(readFileSync(join(root, 'Dockerfile'), 'utf8'));
  const notRun = stages.map(({ from }) => `FROM ${from}: the steps ran on this machine with Node ${process.version} instead`);
  for (const [index, stage] of stages.entries()) buildStage(stage, index, context);

  const image = toImage(stages.length - 1, stages.at(-1));
  await runImage(image, notRun);
  notRun.push('docker build, docker compose up and the port mapping themselves');
  for (const line of notRun) say(`- not run: ${line}`);
}

function rootOf(index) {
  return join(scratch, `stage-${index}`);
}

/** Paths of the image as paths below the stage's folder. */
function inStage(text, index) {
  return text.replace(/(^|[\s='"])(\/(?:app|data|usr\/local\/bin)(?=$|[\s/'"]))/g, (_, before, path) => `${before}${rootOf(index)}${path}`);
}

function buildStage(stage, index, context) {
  let folder = rootOf(index);
  mkdirSync(join(folder, 'usr/local/bin'), { recursive: true });
  for (const { word, text } of stage.steps) {
    if (word === 'WORKDIR') mkdirSync((folder = inStage(text, index)), { recursive: true });
    if (word === 'COPY') copy(text, index, folder, context);
    if (word === 'RUN') {
      const started = performance.now();
      execFileSync('sh', ['-ec', inStage(text, index)], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], env: process.env });
      say(`✓ stage ${index + 1}: ${text.slice(0, 80)} (${Math.round((performance.now() - started) / 1000)} s)`);
    }
  }
}

function copy(text, index, folder, context) {
  const words = text.split(/\s+/);
  const stage = /^--from=(.+)$/.exec(words[0] ?? '')?.[1];
  const [target, ...sources] = (stage ? words.slice(1) : words).toReversed();
  for (const source of sources.toReversed()) {
    // Only the first stage is ever copied from; its name is checked by the rules.
    const from = stage ? inStage(source, 0) : join(context, source);
    const into = sources.length > 1 || target.endsWith('/') ? join(folder, target, source.split('/').at(-1)) : join(folder, target);
    cpSync(from, into, { recursive: true, verbatimSymlinks: true });
  }
}

function toImage(index, stage) {
  const texts = (word) => stage.steps.filter((step) => step.word === word).map(({ text }) => text);
  const local = (text) => inStage(text, index);
  const [uid, gid] = texts('USER').at(-1).split(':').map(Number);
  return {
    folder: rootOf(index),
    data: local('/data'),
    cwd: local(texts('WORKDIR').at(-1)),
    bin: local('/usr/local/bin'),
    env: Object.fromEntries(Object.entries(Object.assign({}, ...texts('ENV').map(toVariables))).map(([name, value]) => [name, local(value)])),
    user: { uid, gid: gid ?? uid },
    start: [...toExec(texts('ENTRYPOINT')[0]), ...toExec(texts('CMD')[0])].map(local),
    health: toExec(texts('HEALTHCHECK')[0].replace(/^.*?CMD\s+/, '')),
  };
}

async function runImage(image, notRun) {
  const hasMounts = succeeds('unshare', ['--mount', 'true']);
  if (!hasMounts) notRun.push('read_only and tmpfs: this machine does not let the script mount anything');
  notRun.push('init: true: the signal went to node itself, as it does without an init process');
  const { uid, gid } = image.user;
  check('the home folder is for its user alone', (statSync(image.data).mode & 0o077) === 0);
  check('the program has no development packages', !existsSync(join(image.cwd, 'node_modules/vitest')) && existsSync(join(image.cwd, 'node_modules/zod')));
  say(`  size of the program: ${Math.round(toSize(image.folder) / 1024 / 1024)} MB beside the base image`);

  const env = { PATH: `${image.bin}:${process.env.PATH}`, HOME: '/nonexistent', ...image.env, HERMES_HTTP_PORT: String(await freePort()) };
  const asUser = (words) => ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', ...words];
  const run = ([command, ...args]) => succeeds(command, args, { cwd: image.cwd, env });
  const isHealthy = () => run(asUser(image.health));
  check('HEALTHCHECK fails while nothing runs', !isHealthy());

  const [command, ...args] = hasMounts ? ['unshare', '--mount', 'sh', '-ec', 'mount --bind "$0" "$0"; mount -o remount,bind,ro /; mount -t tmpfs -o noexec,nosuid,nodev tmpfs /tmp; exec "$@"', image.data, ...asUser(image.start)] : asUser(image.start);
  const child = spawn(command, args, { cwd: image.cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const ended = new Promise((done) => child.once('exit', (code, signal) => done(code ?? signal)));
  try {
    for (let tries = 0; tries < 40 && !isHealthy(); tries += 1) await new Promise((done) => setTimeout(done, 250));
    check(`HEALTHCHECK passes once it runs, as user ${uid} without capabilities${hasMounts ? ' on a read-only root' : ''}`, isHealthy(), output);
    const page = `http://127.0.0.1:${env.HERMES_HTTP_PORT}/`;
    check('the log has the login link', /Page: http:\/\/127\.0\.0\.1:\d+\/login\?ticket=/.test(output), output);
    check('the page answers at localhost:8642, as it is reached through the port mapping', (await statusOf(page, 'localhost:8642')) === 200);
    check('no page answers under a foreign host name', (await statusOf(page, 'evil.example')) === 421);
    check('`hermes` is on the path and reaches the daemon', run(asUser(['hermes', 'status'])) && run(asUser(['hermes', 'pairing', 'list'])));
    check('the home folder holds its files, and the program wrote no others', existsSync(join(image.data, 'state.db')) && !existsSync(join(image.cwd, '.hermes')));
    check('its user cannot change the program', !run(asUser(['test', '-w', image.cwd])) && !run(asUser(['test', '-w', join(image.cwd, 'dist/hermes.js')])));
    const asked = performance.now();
    child.kill('SIGTERM');
    check('SIGTERM ends it with code 0', (await ended) === 0, output);
    say(`  it was gone after ${Math.round(performance.now() - asked)} ms`);
  } finally {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  }
}

function check(what, ok, output = '') {
  if (!ok) throw new Error(`${what}: no${output && `\n${output}`}`);
  say(`✓ ${what}`);
}

function succeeds(command, args, options = {}) {
  try {
    execFileSync(command, args, { stdio: 'ignore', timeout: 10_000, ...options });
    return true;
  } catch {
    return false;
  }
}

/** fetch() sets Host by itself, so this asks by hand. */
async function statusOf(url, host) {
  const { request } = await import('node:http');
  return new Promise((done, failed) => {
    request(url, { headers: { host } }, (response) => {
      response.resume();
      done(response.statusCode);
    }).on('error', failed).end();
  });
}

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

function toSize(folder) {
  return execFileSync('find', [folder, '-type', 'f', '-print'], { encoding: 'utf8', maxBuffer: 1 << 28 })
    .split('\n')
    .filter(Boolean)
    .reduce((sum, path) => sum + lstatSync(path).size, 0);
}
