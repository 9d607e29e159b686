import { reachDatabase } from '../backup/reach-database.ts';
import { runCommand } from '../backup/run-command.ts';
import { count, Progress } from '../demo/progress.ts';
import { rebuildLabelSums, type RebuiltLabelSums } from './rebuild-label-sums.ts';
import { rebuildStates, type Rebuilt } from './rebuild-states.ts';

const HELP = `Computes the histories of all entities and the sums of their outcome labels again from the ledger and compares
them with what is stored.

  npm run rebuild                        counts what differs, changes nothing
  npm run rebuild -- --write             replaces what differs; after an upgrade that changes features
  npm run rebuild -- --site acme         one Site only
  npm run rebuild -- --json              the result as JSON

The service may go on working: what an evaluation changes meanwhile is left alone and counted as moved. Cut short, it is
simply run again: what was replaced stays so. A Site whose oldest
payloads were dropped by retention cannot be rebuilt and is named.
Exit code: 0 nothing differs (any more), 1 something does, 2 wrong usage, 3 the database cannot be reached.
`;

await runCommand(
  { help: HELP, arguments: { write: 'boolean', site: 'string', json: 'boolean' } },
  async ({ settings, values, flags, tell }) => {
    const database = await reachDatabase(settings, tell);
    let progress: Progress | undefined;
    try {
      const result = await rebuildStates({
        url: database.ownerUrl,
        write: flags.has('write'),
        siteCode: values['site'],
        onProgress(done, total) {
          progress ??= new Progress(process.stderr, 'events', total);
          progress.show(done);
        },
      });
      progress?.end();
      const labels = await rebuildLabelSums({
        url: database.ownerUrl,
        write: flags.has('write'),
        siteCode: values['site'],
      });
      const text = flags.has('json')
        ? JSON.stringify({ ...result, label_sums: labels })
        : `${textOf(result)}\n${textOfLabels(labels)}`;
      process.stdout.write(`${text}\n`);
      return isEqual(result) && labels.uncounted + labels.differing === labels.written ? 0 : 1;
    } finally {
      await database.release();
    }
  },
);

function isEqual({ differing, missing, surplus, written, incomplete }: Rebuilt): boolean {
  return differing + missing - written === 0 && surplus === 0 && incomplete.length === 0;
}

function textOfLabels({ labels, uncounted, differing, written }: RebuiltLabelSums): string {
  const mended = written === 0 ? '' : `, ${count(written)} replaced`;
  return `${count(labels)} outcome labels: ${count(uncounted)} entities they did not count for, ${count(differing)} sums that differ${mended}`;
}

function textOf(result: Rebuilt): string {
  const { sites, events, entities, differing, missing, surplus, written, moved, incomplete } =
    result;
  return [
    `${count(events)} events of ${count(sites)} Sites give ${count(entities)} entities`,
    `${count(differing)} stored histories differ, ${count(missing)} are missing, ${count(surplus)} have no event`,
    ...(written + moved > 0
      ? [`${count(written)} replaced, ${count(moved)} left alone because they changed meanwhile`]
      : []),
    ...incomplete.map((code) => `Site ${code}: payloads were dropped, not rebuilt`),
  ].join('\n');
}
