/** The rules that Dockerfile, docker-compose.yml, .dockerignore and .env.example keep. Each problem is one line that says where. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { createIgnore, readDockerfile, toContext, toExec, toMissing, toVariables } from './read-container.mjs';

const home = '/data';
const port = '8642';
/** The daemon drains for 20 s and promises to be gone after 25. */
const leastGraceS = 25;
const tokens = ['TELEGRAM_BOT_TOKEN', 'DISCORD_BOT_TOKEN', 'SLACK_BOT_TOKEN', 'SLACK_APP_TOKEN'];
const secretName = /(TOKEN|KEY|SECRET|PASSWORD)$/;

/** Returns the problems, none when all is well. Never throws for what the files hold. */
export function lintContainer(root) {
  const read = (name) => readFileSync(join(root, name), 'utf8');
  const problems = [];
  const expect = (file, ok, problem) => void (ok || problems.push(`${file}: ${problem}`));
  lintDockerfile(readDockerfile(read('Dockerfile')), expect.bind(null, 'Dockerfile'));
  lintCompose(parseDocument(read('docker-compose.yml')), expect.bind(null, 'docker-compose.yml'));
  lintContext(root, read('.dockerignore'), readDockerfile(read('Dockerfile')), expect.bind(null, '.dockerignore'));
  lintEnvironment(read('.env.example'), expect.bind(null, '.env.example'));
  return problems;
}

function lintDockerfile(stages, expect) {
  const last = stages.at(-1);
  const all = stages.flatMap(({ steps }) => steps);
  const every = (word) => all.filter((step) => step.word === word);
  const final = (word) => last?.steps.filter((step) => step.word === word).map(({ text }) => text) ?? [];
  expect(stages.length > 1, 'has one stage; compilers would stay in the image');

  const majors = stages.map(({ from }) => /^node:(\d+)(\.[\d.]+)?-[a-z]+(-slim)?$/.exec(from)?.[1]);
  expect(majors.every((major) => major && Number(major) >= 22 && Number(major) % 2 === 0), 'a base is not node:<even major of 22 or more>-<Debian name>');
  expect(new Set(majors).size === 1, 'the stages have different majors of Node; native modules would not load');
  expect(last?.from.endsWith('-slim'), 'the last stage is not on a slim image');
  expect(stages.slice(0, -1).every(({ name }) => name !== ''), 'a stage before the last has no name');

  expect(every('ADD').length === 0, 'uses ADD; COPY does all that is needed');
  expect(final('COPY').every((text) => text.startsWith('--from=')), 'the last stage copies from the context; it should take what a stage has built');
  const copied = stages[0]?.steps.findIndex(({ word, text }) => word === 'COPY' && text === '. .') ?? -1;
  const installed = stages[0]?.steps.findIndex(({ word, text }) => word === 'RUN' && text.startsWith('npm ci')) ?? -1;
  expect(installed > 0 && copied > installed, 'npm ci has to run before the sources are copied, so that it is done again only when the lock file changes');
  for (const { line, text } of every('RUN')) {
    expect(!/\bnpm (i|install)\b/.test(text), `line ${line} installs without the lock file; use npm ci`);
    expect(!/\b(sudo|curl|wget)\b/.test(text), `line ${line} uses sudo, curl or wget`);
    expect(!/apt-get install(?!.*--no-install-recommends.*rm -rf \/var\/lib\/apt\/lists)/.test(text), `line ${line} leaves apt's lists or recommended packages in the image`);
  }
  expect(every('RUN').some(({ text }) => text.includes('--omit=dev')), 'development packages are not left out (--omit=dev)');
  for (const { line, word, text } of all.filter(({ word }) => word === 'ENV' || word === 'ARG'))
    expect(!Object.keys(toVariables(word === 'ARG' ? `${text}=` : text)).some((name) => secretName.test(name)), `line ${line} puts a secret into the image`);
  for (const { line, text } of every('WORKDIR')) expect(text.startsWith('/'), `line ${line} has a relative WORKDIR`);

  const env = Object.assign({}, ...final('ENV').map(toVariables));
  expect(env.HERMES_HOME === home && env.HERMES_HTTP_HOST === '0.0.0.0' && env.HERMES_HTTP_PORT === port, `ENV has to set HERMES_HOME=${home}, HERMES_HTTP_HOST=0.0.0.0 and HERMES_HTTP_PORT=${port}`);
  expect(final('VOLUME').some((text) => toExec(text)?.includes(home)), `${home} is no VOLUME; data would be lost with the container`);
  expect(final('EXPOSE').includes(port), `does not EXPOSE ${port}`);
  const user = final('USER').at(-1) ?? 'root';
  expect(/^[1-9]\d*(:[1-9]\d*)?$/.test(user), 'USER is not a number above 0; orchestrators cannot tell that it is not root');
  const words = last?.steps.map(({ word }) => word) ?? [];
  expect(!words.slice(words.lastIndexOf('USER')).includes('RUN'), 'a RUN follows USER');

  expect(final('STOPSIGNAL').includes('SIGTERM'), 'STOPSIGNAL is not SIGTERM');
  const [entry] = final('ENTRYPOINT').map(toExec);
  expect(entry?.[0] === 'node', 'ENTRYPOINT is not in exec form with node first; a shell would keep signals to itself');
  expect(final('CMD').every((text) => toExec(text) !== null), 'CMD is not in exec form');
  const health = toExec((final('HEALTHCHECK')[0] ?? '').replace(/^.*?CMD\s+/, ''));
  expect(health?.[0] === 'node' && health.join(' ').includes('/healthz'), 'HEALTHCHECK does not ask /healthz by node in exec form');
}

function lintCompose(document, expect) {
  for (const { message } of [...document.errors, ...document.warnings]) expect(false, message.split('\n')[0]);
  if (document.errors.length > 0) return;
  const compose = document.toJS() ?? {};
  const services = Object.values(compose.services ?? {});
  const [service] = services;
  expect(!('version' in compose), '`version` is obsolete');
  expect(services.length === 1, 'has not exactly one service');
  if (!service) return;

  expect(service.build !== undefined, 'builds nothing');
  const volumes = (service.volumes ?? []).map(String);
  const [name = '', target] = volumes[0]?.split(':') ?? [];
  expect(volumes.length === 1 && target === home, `has not exactly one volume, at ${home}`);
  expect(/^[\w-]+$/.test(name) && Object.keys(compose.volumes ?? {}).join() === name, 'the volume is not a named one, declared at the end');
  expect([service.env_file].flat().includes('.env'), 'env_file is not .env');
  expect(!Object.entries(service.environment ?? {}).some((entry) => entry.join('=').match(/(TOKEN|KEY|SECRET|PASSWORD)=/)), 'a secret stands in the file');
  expect(service.restart === 'unless-stopped', 'restart is not unless-stopped');

  const ports = (service.ports ?? []).map(String);
  expect(ports.length === 1 && ports[0] === `127.0.0.1:${port}:${port}`, `the port is not bound to 127.0.0.1:${port} of the host alone`);
  expect(service.init === true, 'init is not true; orphans of tools would never be reaped');
  expect(Number.parseInt(service.stop_grace_period, 10) >= leastGraceS && /^\d+s$/.test(service.stop_grace_period), `stop_grace_period is not ${leastGraceS}s or more`);
  expect(service.stop_signal === undefined || service.stop_signal === 'SIGTERM', 'stop_signal is not SIGTERM');

  expect(service.read_only === true, 'the root file system can be written');
  expect([service.tmpfs].flat().some((path) => String(path).split(':')[0] === '/tmp'), '/tmp is no tmpfs');
  expect([service.cap_drop].flat().join() === 'ALL' && service.cap_add === undefined, 'keeps capabilities');
  expect([service.security_opt].flat().includes('no-new-privileges:true'), 'lacks no-new-privileges');
  for (const key of ['privileged', 'network_mode', 'pid', 'ipc', 'devices', 'user', 'userns_mode']) expect(!(key in service), `${key} has no place here`);
}

function lintContext(root, source, stages, expect) {
  const isIgnored = createIgnore(source);
  for (const path of ['.env', '.env.local', 'config/.env', '.git/config', 'node_modules/x', 'src/node_modules/x', 'dist/hermes.js', 'state.db', 'test/walk.test.ts', 'examples/plugins/a/.env'])
    expect(isIgnored(path), `lets ${path} into the build`);
  const context = toContext(root, isIgnored);
  const named = stages[0]?.steps.filter(({ word }) => word === 'COPY').flatMap(({ text }) => text.split(/\s+/).slice(0, -1)).filter((path) => path !== '.') ?? [];
  const needed = [...named, 'src/main.ts', 'config/toolsets.yaml', 'adapters/index.ts', 'scripts/build.mjs'];
  for (const path of needed) expect(context.includes(path), `keeps ${path} out of the build`);
  expect(toMissing(root, named).length === 0, `these are copied and not there: ${toMissing(root, named).join(', ')}`);
}

function lintEnvironment(source, expect) {
  const lines = source.split('\n').map((line) => line.trim());
  for (const name of tokens) expect(lines.some((line) => line === `# ${name}=`), `does not offer ${name} as a line "# ${name}=" to be filled in`);
  // An empty variable of the container would win over one that stands in the volume's own .env.
  for (const line of lines.filter((line) => line !== '' && !line.startsWith('#'))) expect(false, `sets ${line.split('=')[0]}; leave it commented out`);
}
