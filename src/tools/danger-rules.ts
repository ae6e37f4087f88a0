/** Programs that are dangerous by themselves or with certain arguments. A rule gets the arguments and says why, or null. */
export type Rule = (args: readonly string[]) => string | null;

/** Abbreviated long options count: GNU programs accept them. */
function hasOption(args: readonly string[], letters: string, ...longs: string[]): boolean {
  return args.some((arg) =>
    arg.startsWith('--')
      ? arg.length > 2 && longs.some((long) => long.startsWith(arg.split('=')[0] ?? arg))
      : letters !== '' && new RegExp(`^-[a-zA-Z]*[${letters}]`).test(arg),
  );
}

const always = (reason: string): Rule => () => reason;

function rule(names: string, of: Rule): [string, Rule][] {
  return names.split(' ').map((name) => [name, of]);
}

const gitRule: Rule = (args) => {
  if (args.some((arg) => /^(-c|--config-env|--exec-path)/.test(arg))) return 'changes how git runs programs';
  const words = args.filter((arg) => !arg.startsWith('-'));
  const has = (name: string) => words.includes(name);
  if (has('push') && (hasOption(args, 'fd', '--force', '--force-with-lease', '--mirror', '--delete', '--prune') || words.some((word) => /^[+:]/.test(word))))
    return 'overwrites or deletes history on a server';
  if (has('reset') && hasOption(args, '', '--hard', '--merge')) return 'throws away uncommitted work';
  if (has('clean') && hasOption(args, 'f', '--force')) return 'deletes files that are in no commit';
  if (has('branch') && hasOption(args, 'D')) return 'deletes a branch that is not merged';
  if (has('stash') && (has('clear') || has('drop'))) return 'throws away stashed work';
  if (has('filter-branch') || has('filter-repo') || (has('reflog') && has('expire')) || has('update-ref')) return 'rewrites history';
  if ((has('submodule') && has('foreach')) || (has('bisect') && has('run')) || (has('rebase') && hasOption(args, 'x', '--exec'))) return 'runs commands through git';
  return has('config') && args.some((arg) => arg.startsWith('!') || /alias|hook|editor|pager|command/i.test(arg)) ? 'changes how git runs programs' : null;
};

/** By program name, without its folder. */
export const argumentRules: ReadonlyMap<string, Rule> = new Map([
  ...rule('rm unlink', (args) => (hasOption(args, 'rR', '--recursive', '--no-preserve-root') ? 'deletes folders with all they hold' : null)),
  ...rule('find fd', (args) => (args.includes('-delete') || args.some((arg) => arg.startsWith('-fprint')) ? 'deletes or writes every file it finds' : null)),
  ...rule('shred srm wipe', always('destroys files for good')),
  ...rule('mkfs wipefs fdisk sfdisk cfdisk parted mkswap lvremove vgremove cryptsetup', always('changes disks')),
  ...rule('mount umount losetup', always('changes what is mounted')),
  ...rule('dd', (args) => (args.some((arg) => arg.startsWith('of=')) ? 'writes raw data' : null)),
  ...rule('chmod', (args) =>
    hasOption(args, 'R', '--recursive') || args.some((arg) => /^0?[0-7]?[0-7][0-7][2367]$|^[augo]*[ao][augo]*\+[rx]*w|\+[rwx]*s|^[4267][0-7]{3}$/.test(arg)) ? 'opens files to everybody' : null,
  ),
  ...rule('chown chgrp setfacl', (args) => (hasOption(args, 'Rm', '--recursive', '--modify') ? 'changes who owns files' : null)),
  ...rule('setcap chattr', always('changes what files may do')),
  ...rule('git', gitRule),
  ...rule('kill', (args) => (args.includes('-1') || args.includes('1') || args.includes('0') ? 'ends every process' : null)),
  ...rule('pkill killall killall5 skill fuser xkill', always('ends processes by name')),
  ...rule('shutdown reboot halt poweroff telinit init', always('stops the machine')),
  ...rule('systemctl', (args) => (args.some((arg) => /^(status|show|cat|help|list-|is-)/.test(arg)) ? null : 'changes services')),
  ...rule('service launchctl rc-service', (args) => (args.some((arg) => /^(status|list|print)$/.test(arg)) ? null : 'changes services')),
  ...rule('sudo su doas pkexec runuser chroot nsenter unshare machinectl', always('runs with other rights')),
  ...rule('eval', always('runs code given as text')),
  ...rule('alias enable hash trap', (args) => (args.length > 1 || args.some((arg) => arg.includes('=')) ? 'changes what commands mean' : null)),
  ...rule('crontab', (args) => (args.includes('-l') ? null : 'changes scheduled jobs')),
  ...rule('at batch systemd-run', always('runs commands later')),
  ...rule('iptables ip6tables nft ufw firewall-cmd', always('changes the firewall')),
  ...rule('useradd userdel usermod groupadd groupdel passwd chpasswd visudo', always('changes accounts')),
  ...rule('nc ncat netcat socat telnet', always('opens a network connection')),
  ...rule('ssh', always('runs commands on another machine')),
  ...rule('scp sftp', always('copies files to or from another machine')),
  ...rule('rsync', (args) => (hasOption(args, 'e', '--rsh', '--delete', '--delete-after', '--delete-before', '--remove-source-files') ? 'deletes files or runs commands' : null)),
  ...rule('tar bsdtar', (args) => (hasOption(args, 'I', '--checkpoint-action', '--to-command', '--use-compress-program', '--info-script', '--rsh-command') ? 'runs commands through tar' : null)),
  ...rule('vi vim nvim view ex ed emacs', (args) => (args.some((arg) => /^([+]|-[cesSu]|--cmd|--eval)/.test(arg)) ? 'runs commands through an editor' : null)),
  ...rule('awk gawk mawk nawk', (args) => (args.some((arg) => /system\s*\(|\|/.test(arg)) ? 'runs commands through awk' : null)),
  ...rule('sed gsed', (args) => (args.some((arg) => /(^|[;{}\d$/])\s*e(\s|$)|\/[gp\d]*e[gp\d]*$/.test(arg)) ? 'runs commands through sed' : null)),
  ...rule('docker podman nerdctl', (args) => (args.some((arg) => /^(rm|rmi|prune|run|exec|kill|push)$/.test(arg)) ? 'starts or deletes containers' : null)),
  ...rule('kubectl helm terraform', (args) => (args.some((arg) => /^(delete|drain|exec|uninstall|destroy|apply|scale)$/.test(arg)) ? 'changes a running system' : null)),
  ...rule('npm pnpm yarn', (args) => (args.includes('publish') || args.includes('unpublish') ? 'publishes a package' : null)),
]);
