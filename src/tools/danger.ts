/**
 * The danger list: what a person is asked about before the shell runs it. It keeps a mistaken model from doing harm unseen;
 * it is no wall against an attacker, who would have to be kept from the terminal altogether. When it cannot tell, it asks.
 */
import { argumentRules, type Rule } from './danger-rules.ts';
import { countSubstitutions, mostSubstitutions, toCommands, type SimpleCommand, type Word } from './shell-words.ts';

/** Programs that run another program given in their arguments. */
const wrappers = new Set(
  'builtin command exec nohup time nice ionice chrt setsid stdbuf timeout xargs env busybox toybox watch parallel flock unbuffer strace ltrace script entr coproc'.split(' '),
);
const keywords = new Set('! { } if then elif else fi for while until do done case esac in select function'.split(' '));
const shells = new Set('sh bash dash zsh ksh mksh ash fish csh tcsh pwsh'.split(' '));
const interpreters = /^(python|pypy|node|nodejs|deno|bun|perl|ruby|php|lua|luajit|tclsh|osascript|Rscript)[\d.]*$/;
const inlineCode = /^(-[a-zA-Z]*[eEpr]|--eval|--print|--require|--import|eval$)/;
const inlineShellCode = /^(-[a-zA-Z]*[cs]|--command|--init-command|--rcfile|--init-file)/;
const scriptFile = /\.(py|[cm]?[jt]s|rb|pl|php|sh|lua)$/;
const loader = /^(PATH|IFS|ENV|SHELLOPTS|BASH_\w+|PROMPT_COMMAND|LD_\w+|DYLD_\w+|GIT_\w+|NODE_OPTIONS|PYTHON\w+|PERL\w+|RUBYOPT|PAGER|MANPAGER|LESSOPEN|\w*EDITOR)=/;

/** Dangers that count wherever they stand, inside quoted scripts for other programs too. */
const anywhere: readonly (readonly [RegExp, string])[] = [
  [/\brm\s+(-\S+\s+)*(-[a-zA-Z]*[rR]|--r)/, 'deletes folders with all they hold'],
  [/\bmkfs|\bwipefs\b/, 'formats a disk'],
  [/\bdd\b[^\n]*\bof=/, 'writes raw data'],
  [/>\s*\/dev\/(?!null\b|std|tty\b|fd\/)/, 'writes to a device'],
  [/\/dev\/(tcp|udp)\//, 'opens a network connection'],
  [/([^\s(]{1,40})\s*\(\)\s*\{[^}]*\|\s*\1\s*&/, 'starts processes without end'],
  [/\bDROP\s+(TABLE|DATABASE|SCHEMA)\b|\bTRUNCATE\s+TABLE\b|\bDELETE\s+FROM\b(?![^;]*\bWHERE\b)/i, 'deletes data of a database'],
  [/\$'[^']*\\|\$\{?IFS\b/, 'hides what it runs'],
];

const longest = 20_000;

/** Why this command needs a person's consent, or null. */
export function dangerOf(script: string): string | null {
  if (script.length > longest || countSubstitutions(script) > mostSubstitutions) return 'is too long to be looked through';
  const plain = script.replace(/\\\n/g, '').replace(/["'\\]/g, '');
  const found = anywhere.find(([pattern]) => pattern.test(script) || pattern.test(plain));
  if (found) return found[1];
  for (const command of toCommands(script)) {
    const reason = redirectDanger(command) ?? wordsDanger(command);
    if (reason) return reason;
  }
  return null;
}

function redirectDanger({ redirects }: SimpleCommand): string | null {
  const writes = redirects.filter((redirect) => redirect.includes('>'));
  return writes.some((redirect) => isSensitive(redirect.replace(/^[<>&|-]+/, ''))) ? 'writes to a file that controls this machine' : null;
}

function wordsDanger(command: SimpleCommand): string | null {
  const words = [...command.words];
  while (words[0] && (keywords.has(words[0].text) || isAssignment(words[0]))) {
    const skipped = words.shift();
    if (skipped && loader.test(skipped.text)) return 'changes how programs are found or loaded';
    if (skipped?.text === 'for' || skipped?.text === 'case' || skipped?.text === 'select') return null;
  }
  const first = words[0];
  if (!first) return null;
  if (first.dynamic && first.text !== '[' && first.text !== '[[') return 'runs a program that is only known when it runs';
  return programDanger(words, command.fed);
}

/** A wrapper is looked at with each of its arguments as if a command began there. */
function programDanger(words: Word[], fed: boolean): string | null {
  const name = nameOf(words[0]);
  const args = words.slice(1).map(({ text }) => text);
  const reason = codeDanger(name, args, words, fed) ?? ruleFor(name)?.(args) ?? writerDanger(name, args);
  if (reason) return reason;
  const runsMore = wrappers.has(name) || (name === 'find' && args.some((arg) => /^-(exec|ok)/.test(arg)));
  if (!runsMore) return null;
  if (name === 'env' && args.some((arg) => /^(-[a-zA-Z]*S|--sp)/.test(arg))) return 'hides what it runs';
  for (let from = 1; from < words.length; from++) {
    const word = words[from];
    if (word && loader.test(word.text)) return 'changes how programs are found or loaded';
    const inner = programDanger(words.slice(from), fed && name !== 'xargs');
    if (inner) return inner;
  }
  return null;
}

function codeDanger(name: string, args: string[], words: Word[], fed: boolean): string | null {
  const isShell = shells.has(name);
  if (!isShell && !interpreters.test(name) && name !== 'source' && name !== '.') return null;
  const file = args.find((arg) => !arg.startsWith('-'));
  // What follows the script's file are the script's own options.
  const script = args.findIndex((arg) => scriptFile.test(arg));
  const options = script === -1 ? args : args.slice(0, script);
  const inline = isShell || name.startsWith('py') ? inlineShellCode : inlineCode;
  if (name !== 'source' && name !== '.' && options.some((arg) => inline.test(arg))) return 'runs code given as text';
  if ((fed && !file) || file?.startsWith('/dev/') || options.includes('-')) return 'runs code that it reads from elsewhere';
  return words.slice(1).some((word) => word.dynamic && word.text === file) ? 'runs a program that is only known when it runs' : null;
}

function ruleFor(name: string): Rule | undefined {
  return argumentRules.get(name.startsWith('mkfs') ? 'mkfs' : name);
}

const writers = new Set('tee cp mv ln install rsync sed touch truncate'.split(' '));

function writerDanger(name: string, args: string[]): string | null {
  return writers.has(name) && args.some(isSensitive) ? 'writes to a file that controls this machine' : null;
}

function isSensitive(path: string): boolean {
  if (/^\/dev\/(null|stdout|stderr|tty|fd\/\d+)$/.test(path)) return false;
  return (
    /^\/+(etc|boot|bin|sbin|usr|lib\w*|sys|proc|dev|opt|root\/\.|var\/(lib|spool))\//.test(path) ||
    /(^|\/)(\.ssh|\.aws|\.gnupg|\.hermes)(\/|$)|(^|\/)\.(bash|zsh|profile|env)\w*$|(^|\/)\.git\/(hooks|config)/.test(path)
  );
}

function isAssignment(word: Word): boolean {
  return /^[A-Za-z_]\w*\+?=/.test(word.text);
}

function nameOf(word: Word | undefined): string {
  return word?.text.replace(/^.*\//, '') ?? '';
}
