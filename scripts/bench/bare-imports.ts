/** The floor of start and memory: a process that imports the packages that it is given, says so, and does nothing more. */
await Promise.all(process.argv.slice(2).map((name) => import(name)));
process.stdout.write('ready\n');
setInterval(() => undefined, 60_000);
