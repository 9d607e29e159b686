import { cpuSecondsOf, cpuSecondsOfTree, residentMegabytes } from '../processes.ts';
import { shown, withSpread } from '../report.ts';
import { median } from '../statistics.ts';
import { drainBacklog, prepareBacklog } from './backlog.ts';
import { withDatabase, type Scenario } from './scenario.ts';

interface Round {
  readonly perSecond: number;
  readonly evaluated: number;
  readonly workerCpu: number;
  readonly databaseCpu: number;
  readonly rss: number;
}

/** How fast one worker process drains a backlog when nothing else runs. */
export const evaluation: Scenario = async (bench) => {
  const { rounds, quick } = bench.options;
  const results: Round[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    results.push(
      await withDatabase(bench, async (database) => {
        await prepareBacklog(bench, database, quick ? 1 : 4);
        const cpu = {
          worker: Number.NaN,
          database: Number.NaN,
          endWorker: Number.NaN,
          endDatabase: Number.NaN,
          rss: Number.NaN,
        };
        let looking: NodeJS.Timeout | undefined;
        const drain = await drainBacklog(database, [], (pid) => {
          cpu.worker = cpuSecondsOf(pid);
          cpu.database = cpuSecondsOfTree(bench.cluster.pid);
          looking = setInterval(() => {
            const rss = residentMegabytes(pid);
            if (Number.isNaN(rss)) return;
            cpu.rss = Number.isNaN(cpu.rss) ? rss : Math.max(cpu.rss, rss);
            cpu.endWorker = cpuSecondsOf(pid);
            cpu.endDatabase = cpuSecondsOfTree(bench.cluster.pid);
          }, 250);
        }).finally(() => clearInterval(looking));
        bench.tell(`round ${round}/${rounds}  worker: ${Math.round(drain.perSecond)}/s`);
        return {
          perSecond: drain.perSecond,
          evaluated: drain.evaluated,
          workerCpu: ((cpu.endWorker - cpu.worker) / drain.evaluated) * 1000,
          databaseCpu: ((cpu.endDatabase - cpu.database) / drain.evaluated) * 1000,
          rss: cpu.rss,
        };
      }),
    );
  }
  return [
    {
      title: 'Evaluation of a prepared backlog, one worker process, nothing else running',
      head: [
        'way',
        'events/s, median (range)',
        'events per round',
        'worker CPU s/1000',
        'database CPU s/1000',
        'worker RSS MB',
      ],
      rows: [
        [
          'service, ROLE=worker',
          withSpread(results.map(({ perSecond }) => perSecond)),
          shown(median(results.map(({ evaluated }) => evaluated))),
          shown(median(results.map(({ workerCpu }) => workerCpu)), 3),
          shown(median(results.map(({ databaseCpu }) => databaseCpu)), 3),
          shown(Math.max(...results.map(({ rss }) => rss))),
        ],
      ],
      notes: [],
    },
  ];
};
