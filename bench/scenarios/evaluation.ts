import { shown, withSpread } from '../report.ts';
import { median } from '../statistics.ts';
import { drainBacklog, prepareBacklog, type Drain } from './backlog.ts';
import { withDatabase, type Scenario } from './scenario.ts';

/** How fast one worker process drains a backlog when nothing else runs. */
export const evaluation: Scenario = async (bench) => {
  const { rounds, quick, seconds } = bench.options;
  const results: Drain[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const drain = await withDatabase(bench, async (database) =>
      drainBacklog(bench, database, await prepareBacklog(bench, database, quick ? 1 : seconds)),
    );
    results.push(drain);
    bench.tell(`round ${round}/${rounds}  worker: ${Math.round(drain.perSecond)}/s`);
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
          shown(Math.max(...results.map(({ residentMegabytes }) => residentMegabytes))),
        ],
      ],
      notes: [
        'Measured from the first results to the last, so without the start of the process; its compilers warm up meanwhile.',
      ],
    },
  ];
};
