import { allCpu, MEASUREMENT_HEAD, measurementRow } from '../measurement-table.ts';
import { installPeer } from '../peer.ts';
import { ratio } from '../report.ts';
import { median } from '../statistics.ts';
import { WAYS, type Way } from '../ways.ts';
import { measureIngest, sideBySide, type Scenario } from './scenario.ts';

/** Connections of the gate. */
const CONNECTIONS = 64;

/** Ingest at saturation, all ways side by side. */
export const ingest: Scenario = async (bench) => {
  const ways: Way[] = [
    WAYS.reference,
    WAYS.referenceSingle,
    WAYS.referenceFull,
    WAYS.api,
    WAYS.all,
    WAYS.apiInfo,
  ];
  const notes: string[] = [];
  if (!bench.options.peer) notes.push('The peer was left out (--no-peer).');
  else if (installPeer()) ways.splice(3, 0, WAYS.peer);
  else
    notes.push(
      'The peer was left out: its package could not be installed (registry not reachable).',
    );
  const results = await sideBySide(bench, ways, (_, running, database) =>
    measureIngest(bench, running, database, { kind: 'closed', connections: CONNECTIONS }),
  );
  const rate = (way: Way): number =>
    median((results.get(way) ?? []).map(({ perSecond }) => perSecond));
  const api = rate(WAYS.api);
  const cpu = (way: Way): number => median((results.get(way) ?? []).map(allCpu));
  notes.unshift(
    `Service (ROLE=api) to reference (ledger, usage, job; one transaction per event): ${ratio(api, rate(WAYS.reference))}; to its one-statement form: ${ratio(api, rate(WAYS.referenceSingle))}; to all five writes: ${ratio(api, rate(WAYS.referenceFull))}.`,
    `The same by CPU (service, database and load together per accepted event), which other work on the machine disturbs less: ${ratio(cpu(WAYS.reference), cpu(WAYS.api))}, ${ratio(cpu(WAYS.referenceSingle), cpu(WAYS.api))}, ${ratio(cpu(WAYS.referenceFull), cpu(WAYS.api))}.`,
    `Service (ROLE=api) to peer: ${ratio(api, rate(WAYS.peer))}. ROLE=all to ROLE=api: ${ratio(rate(WAYS.all), api)}. Log level info to warn: ${ratio(rate(WAYS.apiInfo), api)}.`,
  );
  notes.push(
    'The gate is the first row: BEGIN, three prepared statements, COMMIT, a round trip each, as `pgbench -M prepared` runs a script. The second is the least that one commit per event can cost, the third does all that the service stores. bench/README.md says why.',
  );
  return [
    {
      title: `Ingest at saturation, ${CONNECTIONS} connections`,
      head: MEASUREMENT_HEAD,
      rows: [...results].map(([way, rounds]) => measurementRow(way.name, rounds)),
      notes,
    },
  ];
};
