/**
 * Reads a shell command as far as needed to see which programs it would run: quotes and escapes are taken away as the shell
 * does it, so `r\m`, `"rm"` and `r''m` all read as rm. It is no shell: what is only known when the shell expands it (a
 * variable, a glob, a substitution) is marked as dynamic and left to the caller, who then has to ask.
 */
export interface Word {
  text: string;
  /** The shell replaces part of it before it runs. */
  dynamic: boolean;
}

export interface SimpleCommand {
  words: Word[];
  /** Where `>` and `<` point, with the operator in front: `>/dev/sda`. */
  redirects: string[];
  /** Its input comes from another command, a here-document or a process substitution. */
  fed: boolean;
}

/** Substitutions of which each costs one more reading. */
export const mostSubstitutions = 100;

export function countSubstitutions(script: string): number {
  return script.match(/\$\(|`/g)?.length ?? 0;
}

/**
 * Every simple command of a script. A substitution may stand inside quotes, where the first reading takes it for text, so
 * the script is read again from behind each one: that finds more than would run, never less. Here-documents are read as
 * commands too.
 */
export function toCommands(script: string): SimpleCommand[] {
  const starts = [...script.matchAll(/\$\(|`/g)].slice(0, mostSubstitutions).map((found) => found.index + found[0].length);
  return [0, ...starts].flatMap((start) => readCommands(script.slice(start)));
}

function readCommands(script: string): SimpleCommand[] {
  const commands: SimpleCommand[] = [];
  let command: SimpleCommand = { words: [], redirects: [], fed: false };
  let word: Word | null = null;
  let operator = '';
  let at = 0;

  const add = (text: string, dynamic = false) => {
    word ??= { text: '', dynamic: false };
    word.text += text;
    word.dynamic ||= dynamic;
  };
  const endWord = () => {
    if (word && operator) command.redirects.push(operator + word.text);
    else if (word) command.words.push(word);
    if (word) operator = '';
    word = null;
  };
  const endCommand = (fedNext: boolean) => {
    endWord();
    operator = '';
    if (command.words.length > 0 || command.redirects.length > 0) commands.push(command);
    command = { words: [], redirects: [], fed: fedNext };
  };

  while (at < script.length) {
    const char = script.charAt(at);
    const next = script.charAt(at + 1);
    if (char === '\\') {
      if (next !== '\n') add(next);
      at += 2;
    } else if (char === "'") {
      const end = closing(script, "'", at + 1);
      add(script.slice(at + 1, end));
      at = end + 1;
    } else if (char === '"') {
      at = readQuoted(script, at + 1, add);
    } else if (char === '$' && next === '(') {
      add('', true);
      endCommand(false);
      at += 2;
    } else if (char === '$') {
      add('$', true);
      at += 1;
    } else if (char === '`') {
      add('', true);
      endCommand(false);
      at += 1;
    } else if ((char === '<' || char === '>') && next === '(') {
      command.fed ||= char === '<';
      endCommand(false);
      at += 2;
    } else if (char === '<' || char === '>' || (char === '&' && next === '>')) {
      const found = /^(&>>?|[<>][<>&|]*-?)/.exec(script.slice(at))?.[0] ?? char;
      if (word !== null && /^\d+$/.test((word as Word).text)) word = null;
      endWord();
      operator = found;
      command.fed ||= found.startsWith('<<');
      at += found.length;
    } else if (';&|()\n'.includes(char)) {
      endCommand(char === '|' && next !== '|' && script.charAt(at - 1) !== '|');
      at += 1;
    } else if (char === ' ' || char === '\t' || char === '\r') {
      endWord();
      at += 1;
    } else if (char === '#' && word === null) {
      at = closing(script, '\n', at);
    } else {
      add(char, '*?[{'.includes(char));
      at += 1;
    }
  }
  endCommand(false);
  return commands;
}

/** Reads to the closing double quote. */
function readQuoted(script: string, from: number, add: (text: string, dynamic?: boolean) => void): number {
  add('');
  let at = from;
  for (; at < script.length && script.charAt(at) !== '"'; at++) {
    const char = script.charAt(at);
    if (char === '\\' && '$`"\\\n'.includes(script.charAt(at + 1))) {
      at += 1;
      if (script.charAt(at) !== '\n') add(script.charAt(at));
    } else add(char, char === '$' || char === '`');
  }
  return at + 1;
}

function closing(script: string, mark: string, from: number): number {
  const end = script.indexOf(mark, from);
  return end === -1 ? script.length : end;
}
